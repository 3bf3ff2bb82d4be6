/** Encoded words (RFC 2047): non-ASCII text in a header. */

/** RFC 2047 §2. */
export const maxEncodedWordLength = 75;

interface WordEncoding {
  letter: 'Q' | 'B';
  /** The space that a character takes, in units of `capacity`. */
  cost(codePoint: number): number;
  /** The space in a word of this many characters. */
  capacity(wordLength: number): number;
  encode(text: string): string;
}

const prefix = '=?UTF-8?';
/** `=?UTF-8?Q?` and `?=`. */
const overhead = prefix.length + 4;

/** Safe in a phrase as well as in unstructured text (RFC 2047 §5 (3)). */
const literalInQ = new Uint8Array(256);
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!*+-/ ') {
  literalInQ[character.charCodeAt(0)] = 1;
}

/** Length of a character in UTF-8, in bytes. A lone surrogate becomes U+FFFD, which also takes three. */
function utf8Length(codePoint: number): number {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x10000 ? 3 : 4;
}

const quoted: WordEncoding = {
  letter: 'Q',
  cost: (codePoint) => (literalInQ[codePoint] ? 1 : 3 * utf8Length(codePoint)),
  capacity: (wordLength) => wordLength - overhead,
  encode: (text) => Array.from(Buffer.from(text), encodeByteInQ).join(''),
};

const base64: WordEncoding = {
  letter: 'B',
  cost: utf8Length,
  capacity: (wordLength) => Math.floor((wordLength - overhead) / 4) * 3,
  encode: (text) => Buffer.from(text).toString('base64'),
};

function encodeByteInQ(byte: number): string {
  if (byte === 0x20) return '_';
  if (literalInQ[byte]) return String.fromCharCode(byte);
  return `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}

/**
 * Encodes text as words of at most 75 characters each, in Q or B, whichever is shorter. Words never split a character.
 * They split a grapheme (base and combining marks, joined emoji) only if it is too long for one word.
 * @param text not empty
 * @param firstLength number of characters left on the line of the first word
 */
export function encodeWords(text: string, firstLength: number): string[] {
  const encoding = shorterEncoding(text);
  const restCapacity = encoding.capacity(maxEncodedWordLength);
  const words: string[] = [];
  let capacity = encoding.capacity(Math.min(firstLength, maxEncodedWordLength));
  for (let start = 0; start < text.length; capacity = restCapacity) {
    const end = wordEnd(text, start, encoding, capacity);
    words.push(`${prefix}${encoding.letter}?${encoding.encode(text.slice(start, end))}?=`);
    start = end;
  }
  return words;
}

function shorterEncoding(text: string): WordEncoding {
  let inQ = 0;
  let inB = 0;
  for (let index = 0; index < text.length;) {
    const codePoint = text.codePointAt(index) ?? 0;
    inQ += quoted.cost(codePoint);
    inB += base64.cost(codePoint);
    index += unitsOf(codePoint);
  }
  return inQ <= Math.ceil(inB / 3) * 4 ? quoted : base64;
}

/** Number of UTF-16 code units of a character. */
function unitsOf(codePoint: number): number {
  return codePoint > 0xffff ? 2 : 1;
}

/** The end of the longest text from `start` that fits into the capacity. */
function fittingEnd(text: string, start: number, encoding: WordEncoding, capacity: number): number {
  let end = start;
  for (let used = 0; end < text.length;) {
    const codePoint = text.codePointAt(end) ?? 0;
    used += encoding.cost(codePoint);
    if (used > capacity) break;
    end += unitsOf(codePoint);
  }
  return end;
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * The end of the word that begins at `start`. Only the text around the end is segmented, because the segmenter is slow
 * and the text may be long.
 */
function wordEnd(text: string, start: number, encoding: WordEncoding, capacity: number): number {
  const end = fittingEnd(text, start, encoding, capacity);
  if (end === text.length || (end > start && isAscii(text, end - 1) && isAscii(text, end))) return end;
  const longest = fittingEnd(text, start, encoding, encoding.capacity(maxEncodedWordLength));
  const around = graphemes.segment(text.slice(start, longest + 2)).containing(end - start);
  if (around === undefined) return end;
  if (around.index > 0) return start + around.index;
  // The first character does not fit into the rest of the line. It may fit into a line of its own.
  const whole = start + around.segment.length;
  return whole <= longest ? whole : longest;
}

function isAscii(text: string, index: number): boolean {
  return text.charCodeAt(index) < 0x80;
}
