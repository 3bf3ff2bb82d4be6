/** Encoded words (RFC 2047): non-ASCII text in a header. */

/** RFC 2047 §2. */
export const maxEncodedWordLength = 75;

interface WordEncoding {
  letter: 'Q' | 'B';
  /** Space that a piece of text takes, in the unit of `capacity`. */
  cost(text: string): number;
  /** Space in a word of this many characters. */
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

const quoted: WordEncoding = {
  letter: 'Q',
  cost: (text) => Buffer.from(text).reduce((sum, byte) => sum + (literalInQ[byte] ? 1 : 3), 0),
  capacity: (wordLength) => wordLength - overhead,
  encode: (text) => Array.from(Buffer.from(text), encodeByteInQ).join(''),
};

const base64: WordEncoding = {
  letter: 'B',
  cost: (text) => Buffer.byteLength(text),
  capacity: (wordLength) => Math.floor((wordLength - overhead) / 4) * 3,
  encode: (text) => Buffer.from(text).toString('base64'),
};

function encodeByteInQ(byte: number): string {
  if (byte === 0x20) return '_';
  if (literalInQ[byte]) return String.fromCharCode(byte);
  return `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}

/**
 * Encodes text as words of at most 75 characters each, in the shorter of Q and B. Words never split a character. They
 * split what a reader sees as one character (base and combining marks, joined emoji) only if it is too long for a word.
 * @param text well-formed Unicode, not empty
 * @param firstLength characters that are left on the line of the first word
 */
export function encodeWords(text: string, firstLength: number): string[] {
  const encoding = shorterEncoding(text);
  const restCapacity = encoding.capacity(maxEncodedWordLength);
  let capacity = encoding.capacity(Math.min(firstLength, maxEncodedWordLength));
  const words: string[] = [];
  let chunk = '';
  let used = 0;
  for (const unit of indivisibleUnits(text, encoding, capacity)) {
    const cost = encoding.cost(unit);
    if (used + cost > capacity && chunk !== '') {
      words.push(toWord(encoding, chunk));
      capacity = restCapacity;
      chunk = '';
      used = 0;
    }
    chunk += unit;
    used += cost;
  }
  words.push(toWord(encoding, chunk));
  return words;
}

function toWord(encoding: WordEncoding, text: string): string {
  return `${prefix}${encoding.letter}?${encoding.encode(text)}?=`;
}

function shorterEncoding(text: string): WordEncoding {
  const base64Length = Math.ceil(base64.cost(text) / 3) * 4;
  return quoted.cost(text) <= base64Length ? quoted : base64;
}

/** Yields the pieces that are not split: the whole text if it fits into the first word. */
function* indivisibleUnits(text: string, encoding: WordEncoding, firstCapacity: number): Generator<string> {
  if (encoding.cost(text) <= firstCapacity) {
    yield text;
    return;
  }
  const restCapacity = encoding.capacity(maxEncodedWordLength);
  for (const { segment } of new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)) {
    if (encoding.cost(segment) <= restCapacity) yield segment;
    else yield* segment;
  }
}
