/** The lines of a mail, and which of them are its header. */

export const MAX_FIELDS = 1_000;
export const MAX_HEADER_BYTES = 256 * 1024;
/** To parse addresses takes time that grows with the square of the length of their field. */
export const MAX_FIELD_BYTES = 32 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;

export interface Line {
  start: number;
  /** Without the line break, and without other CRs before it. */
  end: number;
  next: number;
}

/** The lines of a mail, without their line ends. */
export function* linesOf(bytes: Buffer): Generator<Line> {
  let start = 0;
  while (start < bytes.length) {
    const feed = bytes.indexOf(LF, start);
    const next = feed === -1 ? bytes.length : feed + 1;
    let end = feed === -1 ? next : feed;
    while (end > start && bytes[end - 1] === CR) end -= 1;
    yield { start, end, next };
    start = next;
  }
}

/**
 * Returns the header of a mail, without the empty line after it. It is cut before the first field that is too long or too
 * many.
 */
export function headerOf(bytes: Buffer): Buffer {
  let fields = 0;
  let fieldStart = 0;
  for (const { start, end } of linesOf(bytes)) {
    if (start === end) return bytes.subarray(0, start);
    const first = bytes[start];
    if (first !== SPACE && first !== TAB) {
      fields += 1;
      fieldStart = start;
    }
    const tooLong = end > MAX_HEADER_BYTES || end - fieldStart > MAX_FIELD_BYTES;
    if (tooLong || fields > MAX_FIELDS) return bytes.subarray(0, fieldStart);
  }
  return bytes;
}

/** Fields that no text contains by chance. */
const KNOWN_FIELD =
  /^(?:arc-|content-|dkim-|list-|received|resent-|return-path|x-|(?:from|sender|to|cc|subject|date|reply-to|message-id|in-reply-to|references|mime-version)[ \t]*:)/gim;

/** @returns where the last known field before the first empty line begins; -1 if there is none */
export function lastFieldIn(text: string): number {
  const end = text.search(/\n\r*\n/);
  const fields = [...(end === -1 ? text : text.slice(0, end)).matchAll(KNOWN_FIELD)];
  return fields.at(-1)?.index ?? -1;
}
