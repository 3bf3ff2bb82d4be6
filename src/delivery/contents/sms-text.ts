/** How long an SMS may become. */
import { countSegments } from '../money/sms-segments.ts';
import { Placeholders } from './placeholders.ts';

/** The most segments of an SMS. */
export const MAX_SMS_SEGMENTS = 10;
/** A character outside of the GSM alphabet, which makes the whole text UCS-2. */
const WIDE = '字';
/** A shorter length is that of the ellipsis. */
const ELLIPSIS = 3;
const TRUNCATED = /\|\s*truncate\s*:\s*(\d{1,4})\s*(?:,\s*(?:''|"")\s*)?-?\}\}$/;

/** The segments of a text whose outputs are empty or, if they are truncated, of their greatest length. */
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

/** The least number of segments that the constant parts of a text take. @param text Liquid */
export function smsSegments(text: string): number {
  return segmentsOf(text).segments;
}

/**
 * The largest number of segments that a text may have once it is rendered, at most 10. An output may have any length
 * unless `truncate` is its last filter, so a text with one takes the most that is allowed.
 * @param text Liquid
 */
export function largestSegments(text: string): number {
  const { segments, isUnbounded } = segmentsOf(text);
  return isUnbounded ? MAX_SMS_SEGMENTS : Math.min(segments, MAX_SMS_SEGMENTS);
}
