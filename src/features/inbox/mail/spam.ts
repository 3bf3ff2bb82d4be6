/** Says whether a mail is spam: rspamd does, or plain rules. */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { json } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { BlobStore } from '../../../platform/storage/blob-store.ts';
import type { AcceptedMail, MailAuthentication } from './mail.ts';

/** `spam`: why the mail is spam; null if it is not. */
export type Verdict = { spam: string | null } | 'unavailable';

/** Judges mails. */
export interface SpamFilter {
  /** Never fails. */
  judge(mail: AcceptedMail): Promise<Verdict>;
}

/** What a domain asks receivers to do with mail that is not its own. */
const ENFORCED = new Set(['reject', 'quarantine']);

/** The rules for an installation without rspamd. */
export function dmarcSpam({ dmarc }: MailAuthentication): string | null {
  // Otherwise a second author, or one that only mail clients recognize, would make a forged sender pass.
  if (dmarc.result === 'permerror') return 'the field From does not have authors of one domain';
  if (dmarc.result !== 'fail' || !ENFORCED.has(dmarc.policy ?? '')) return null;
  return `DMARC fails, and the policy of the domain is ${dmarc.policy}`;
}

const TIMEOUT_MS = 10_000;
const SPAM_ACTIONS = new Set(['reject', 'add header', 'rewrite subject']);

const verdictSchema = z.object({ action: z.string(), score: z.number().optional() });

/** A header cannot carry other characters. */
function headerValue(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?');
}

function headersOf({ envelopeFrom, recipient, ip, helo }: AcceptedMail): Record<string, string> {
  const headers: Record<string, string> = { from: headerValue(envelopeFrom), rcpt: headerValue(recipient) };
  if (ip !== null) headers.ip = headerValue(ip);
  if (helo !== null) headers.helo = headerValue(helo);
  return headers;
}

async function askRspamd(
  url: URL,
  store: BlobStore,
  mail: AcceptedMail,
  timeoutMs: number,
): Promise<string | null> {
  const blob = await store.open(mail.rawKey);
  if (!blob) throw new Error('the raw message is missing');
  const signal = AbortSignal.timeout(timeoutMs);
  const headers = { ...headersOf(mail), 'content-length': blob.size };
  const open = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const request = open(url, { method: 'POST', headers, signal });
  const answer = once(request, 'response', { signal }) as Promise<[IncomingMessage]>;
  const [[response]] = await Promise.all([answer, pipeline(blob.stream, request)]);
  if (response.statusCode !== 200) throw new Error(`the filter answered ${response.statusCode}`);
  const { action, score } = verdictSchema.parse(await json(response));
  if (!SPAM_ACTIONS.has(action)) return null;
  return score === undefined ? `rspamd: ${action}` : `rspamd: ${action}, score ${score.toFixed(1)}`;
}

/**
 * @param url RSPAMD_URL
 * @param store contains the raw messages
 */
export function createRspamd(
  url: string,
  store: BlobStore,
  log: Logger,
  { timeoutMs = TIMEOUT_MS }: { timeoutMs?: number } = {},
): SpamFilter {
  const checkUrl = new URL('/checkv2', url);
  let available = true;
  return {
    async judge(mail) {
      try {
        const spam = await askRspamd(checkUrl, store, mail, timeoutMs);
        if (!available) log.info('the spam filter is available again');
        available = true;
        return { spam };
      } catch (err) {
        // Once, not for every mail.
        if (available) log.warn({ err }, 'the spam filter is unavailable; plain rules apply');
        available = false;
        return 'unavailable';
      }
    },
  };
}
