/** Reads accepted mails in threads, so that a mail can exhaust neither the process's time nor its memory. */
import type { Logger } from 'pino';
import { createDnsAnswers } from '../../../platform/dns/answers.ts';
import { createHomeStore } from '../../../platform/storage/local-disk.ts';
import { unauthenticated } from './authenticate.ts';
import type { ReadContents } from './jobs.ts';
import type { AcceptedMail, MailAuthentication, MailReader, ReadMail } from './mail.ts';
import { createMailJobs, UnreadableMailError, type MailJobsOptions } from './mail-jobs.ts';
import { completeAuthentication } from './questions.ts';
import { createRspamd, dmarcSpam } from './spam.ts';

export interface MailReaderOptions extends MailJobsOptions {
  /** Addresses of name servers (DNS_SERVERS). If empty, the system's. */
  dnsServers: readonly string[];
  /** RSPAMD_URL. Without it, plain rules find spam. */
  rspamdUrl?: string | undefined;
  log: Logger;
  /** Time limit for one look-up, and for all look-ups of a mail together, in ms; by default 5 s and 15 s. */
  lookUpMs?: number;
}

/** What is known of a mail whose header cannot be read either. */
function fromEnvelope({ envelopeFrom }: AcceptedMail): ReadContents {
  return {
    header: {
      internetId: null,
      referenceIds: [],
      from: envelopeFrom,
      senderKey: null,
      to: [],
      cc: [],
      replyTo: null,
      date: null,
      subject: null,
      autoSubmitted: envelopeFrom === '',
    },
    body: null,
    digest: null,
    authentication: unauthenticated(),
    unknown: [],
    unreadable: null,
    spam: null,
  };
}

/** @param spam why the mail is spam */
function toReadMail(
  { header, body, digest, unreadable }: ReadContents,
  authentication: MailAuthentication,
  spam: string | null,
): ReadMail {
  const found = unreadable ?? spam;
  return {
    internetId: header.internetId,
    referenceIds: header.referenceIds,
    from: header.from,
    senderKey: header.senderKey,
    to: header.to,
    cc: header.cc,
    replyTo: header.replyTo,
    date: header.date,
    subject: header.subject,
    text: body?.text ?? null,
    html: body?.html ?? null,
    truncated: body?.truncated ?? false,
    autoSubmitted: header.autoSubmitted,
    attachments: body?.attachments ?? [],
    authentication,
    digest: digest && Buffer.from(digest),
    suspicion: found === null ? null : { reason: unreadable === null ? 'spam' : 'unreadable', detail: found },
  };
}

/** Reads mails with a pool of threads. */
export function createMailReader(options: MailReaderOptions): MailReader {
  const jobs = createMailJobs(options);
  const { rspamdUrl, log, lookUpMs } = options;
  const dns = createDnsAnswers(options.dnsServers, lookUpMs === undefined ? {} : { lookUpMs });
  const rspamd = rspamdUrl === undefined ? null : createRspamd(rspamdUrl, createHomeStore(options.home), log);

  async function readContents(mail: AcceptedMail): Promise<ReadContents> {
    try {
      return await jobs.run('contents', mail);
    } catch (error) {
      if (!(error instanceof UnreadableMailError)) throw error;
      const header = await jobs.run('header', mail).catch((headerError: unknown) => {
        if (headerError instanceof UnreadableMailError) return fromEnvelope(mail);
        throw headerError;
      });
      header.unreadable = error.message;
      return header;
    }
  }

  async function read(mail: AcceptedMail): Promise<ReadMail> {
    const contents = await readContents(mail);
    if (contents.unreadable !== null) return toReadMail(contents, contents.authentication, null);
    const [authentication, verdict] = await Promise.all([
      completeAuthentication(jobs, dns, mail, contents, lookUpMs),
      rspamd ? rspamd.judge(mail) : ('unavailable' as const),
    ]);
    const judged = verdict === 'unavailable' ? dmarcSpam(authentication) : verdict.spam;
    return toReadMail(contents, authentication, contents.spam ?? judged);
  }

  return { read, close: () => jobs.close() };
}
