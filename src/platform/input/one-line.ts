import { z } from 'zod';

/**
 * Text without line breaks or control characters. Written without `\p{…}`, which many generators of clients and tests
 * do not understand: the pattern is part of the OpenAPI description.
 */
export const ONE_LINE = /^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$/;
export const ONE_LINE_MESSAGE = 'must not contain line breaks or control characters';

/** A text of one line. @param maxLength in UTF-16 code units */
export function oneLine(maxLength: number) {
  return z.string().max(maxLength).regex(ONE_LINE, ONE_LINE_MESSAGE);
}
