import type { Refusal } from '../../terms/bounces.ts';
import { type Fields, readFieldBlocks } from './fields.ts';

/** What a delivery status notification says about a message. */
export interface DeliveryStatus {
  /** `unchanged`: delayed, relayed or expanded, which are not outcomes. `unknown`: anything else. */
  outcome: 'failed' | 'delivered' | 'unknown' | 'unchanged';
  /** The server's reply for the recipient that the outcome is about. */
  refusal: Refusal;
  /** The ENVID of the hand-over (RFC 3461 §4.4). */
  envelopeId: string | null;
}

const ENHANCED = /^\s*([245]\.\d{1,3}\.\d{1,3})\b/;
/** Some servers leave it out. A reply begins with its code, and words have spaces between them. */
const DIAGNOSTIC_TYPE = /^\s*[a-z][\w.-]{0,99}\s*;/i;
/** A reply inside a text, with its enhanced code. */
const REPLY = /(?:^|[\s:;,(<])([45]\d\d)[ -](?:([245]\.\d{1,3}\.\d{1,3})(?:[ :]|$))?/;
const REFUSED_COMMAND = /(?:in reply to|after)(?: pipelined)? (rcpt|mail|end of data|data)\b/i;
const stages: Record<string, Refusal['stage']> = {
  rcpt: 'rcpt',
  mail: 'mail',
  data: 'data',
  'end of data': 'body',
};

function stageOf(text: string): Refusal['stage'] {
  const command = REFUSED_COMMAND.exec(text)?.[1]?.toLowerCase() ?? '';
  return stages[command] ?? 'report';
}

/** Removes the codes at the beginning of the second and later lines of a reply, which the report has joined. */
function withoutRepeatedCodes(text: string, code: string, enhanced: string | undefined): string {
  const prefixes = enhanced === undefined ? [] : [`${code}-${enhanced} `, `${code} ${enhanced} `];
  return [...prefixes, `${code}-`].reduce((rest, prefix) => rest.replaceAll(` ${prefix}`, ' '), text);
}

/**
 * Parses a server's reply that a report quotes.
 * @param status the enhanced code of the report itself, if it has one
 */
export function refusalIn(text: string, status: string | null): Refusal {
  const stage = stageOf(text);
  const reply = REPLY.exec(text);
  const [whole = '', code = '', enhanced] = reply ?? [];
  return {
    code: reply === null ? null : Number(code),
    enhanced: enhanced ?? null,
    status,
    text:
      reply === null
        ? text.trim()
        : withoutRepeatedCodes(text.slice(reply.index + whole.length), code, enhanced).trim(),
    stage,
  };
}

/** RFC 3464 §2.3.3. */
const outcomes: Record<string, DeliveryStatus['outcome']> = {
  failed: 'failed',
  delivered: 'delivered',
  delayed: 'unchanged',
  relayed: 'unchanged',
  expanded: 'unchanged',
};
/**
 * If a report lists several recipients, the one with the most severe outcome counts, because our messages have only one
 * recipient.
 */
const weights = { failed: 3, delivered: 2, unknown: 1, unchanged: 0 };

function statusOf(fields: Fields, envelopeId: string | null): DeliveryStatus | null {
  const action = /^[a-z]+/i.exec(fields.get('action') ?? '')?.[0].toLowerCase();
  if (action === undefined) return null;
  const status = ENHANCED.exec(fields.get('status') ?? '')?.[1] ?? null;
  const words = (fields.get('diagnostic-code') ?? '').replace(DIAGNOSTIC_TYPE, '');
  const outcome = outcomes[action] ?? 'unknown';
  // A success code with `failed`, or the reverse, is a mistake of the reporting server.
  const contradicts = status !== null && (outcome === 'failed') === status.startsWith('2.');
  return {
    outcome: contradicts && outcome !== 'unchanged' ? 'unknown' : outcome,
    refusal: refusalIn(words.trim(), status),
    envelopeId,
  };
}

/**
 * Reads a `message/delivery-status` part (RFC 3464).
 * @returns null if it names no recipient
 */
export function readDeliveryStatus(text: string): DeliveryStatus | null {
  const blocks = readFieldBlocks(text);
  const envelopeId = blocks.find((block) => block.has('original-envelope-id'))?.get('original-envelope-id');
  const statuses = blocks.flatMap((block) => statusOf(block, envelopeId ?? null) ?? []);
  return statuses.sort((one, other) => weights[other.outcome] - weights[one.outcome])[0] ?? null;
}
