/** Bytes to send, both ends included. */
export interface ByteRange {
  start: number;
  end: number;
}

const SINGLE = /^bytes=([0-9]{0,15})-([0-9]{0,15})$/i;

/**
 * Parses a `Range` header (RFC 9110 §14.2). A header that has several ranges or is malformed counts as none, so that the
 * whole file is sent.
 * @param header undefined if the request has none
 * @param size of the file, in bytes
 * @returns null: the whole file
 */
export function parseByteRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | null {
  const [, first = '', last = ''] = SINGLE.exec(header?.replace(/\s/g, '') ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
}
