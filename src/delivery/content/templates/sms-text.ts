/** Limits the length of an SMS. */
import { countSegments } from '../../terms/texts/sms-segments.ts';
import { Placeholders } from './placeholders.ts';

/** Maximum number of segments of an SMS. */
export const MAX_SMS_SEGMENTS = 10;
/** A character outside of the GSM alphabet, which makes the whole text UCS-2. */
const WIDE = '字';
/** `truncate` returns at least its ellipsis. */
const ELLIPSIS = 3;
const TRUNCATED = /\|\s*truncate\s*:\s*(\d{1,4})\s*(?:,\s*(?:''|"")\s*)?-?\}\}$/;

/**
 * Counts the segments of a text whose outputs have their maximum length if they are truncated, and are empty otherwise.
 */
function segmentsOf(text: string): { segments: number; isUnbounded: boolean } {
  const placeholders = new Placeholders([text]);
  const hidden = placeholders.hide(text);
  let isUnbounded = false;
  const longest = placeholders.show(hidden, ({ token }) => {
    const length = token.isOutput ? TRUNCATED.exec(token.source)?.[1] : undefined;
    isUnbounded ||= length === undefined;
    return length === undefined ? '' : WIDE.repeat(Math.max(Number(length), ELLIPSIS));
  });
  return { segments: countSegments(longest).segments, isUnbounded };
}

/** Minimum number of segments that the constant parts of a text take. @param text Liquid */
export function smsSegments(text: string): number {
  return segmentsOf(text).segments;
}

/**
 * Maximum number of segments that a text may have after rendering, at most 10. An output may have any length unless
 * `truncate` is its last filter, so a text with such an output counts as 10.
 * @param text Liquid
 */
export function largestSegments(text: string): number {
  const { segments, isUnbounded } = segmentsOf(text);
  return isUnbounded ? MAX_SMS_SEGMENTS : Math.min(segments, MAX_SMS_SEGMENTS);
}
