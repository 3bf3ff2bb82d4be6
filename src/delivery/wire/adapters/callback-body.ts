import { z } from 'zod';
import { exceededBound } from '../../../platform/json/shape.ts';
import type { CallbackResult, ProviderFact } from './kind.ts';

/** Maximum number of items read from one callback, more than any service sends at once. The rest is ignored. */
const MAX_ITEMS = 5_000;
const MAX_TEXT = 2_000;
/** Maximum number of JSON values in a body: about three times as many as 1 MB of genuine reports contains. */
const MAX_VALUES = 100_000;

/** A string in a callback, cut at 2,000 characters. */
export const boundedText = z.string().transform((text) => text.slice(0, MAX_TEXT));

/**
 * Parses a body as JSON.
 * @returns undefined if it is not JSON, or has more levels or values than any genuine report
 */
export function jsonOf(body: Buffer | string): unknown {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  if (exceededBound(bytes, MAX_VALUES) !== null) return undefined;
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch {
    return undefined;
  }
}

/** @returns the time, or `now` if the text is not a valid time or lies in the future */
export function timeOf(value: string | number | undefined, now: Date): Date {
  const time = new Date(typeof value === 'number' ? value * 1_000 : (value ?? NaN));
  return time.getTime() <= now.getTime() ? time : now;
}

/** The base of every fact. */
export const plainFact = { response: null, bounce: null, failure: null, suppresses: false } as const;

/**
 * Reads the items of a callback.
 * @param read returns null for an item that is not about the outcome of a message, or that cannot be read
 */
export function reports(
  items: readonly unknown[],
  read: (item: unknown) => ProviderFact | null,
): CallbackResult {
  const facts = items.slice(0, MAX_ITEMS).flatMap((item) => read(item) ?? []);
  return { kind: 'reports', facts, inbound: [], ignored: items.length - facts.length, onceTokens: [] };
}
