/** Encoded words in fields of a header (RFC 2047). */
import { decodeText } from './charset.ts';

/** The text may contain `?`, which some programs do not encode, but not the beginning of another word. */
const WORD = /=\?([^?\s=]{1,60})\?([QB])\?((?:(?!\?=|=\?[^?\s=]{1,60}\?[QB]\?)[^\r\n])*)\?=/gi;
const BETWEEN = /^[ \t\r\n]*$/;

interface Word {
  charset: string;
  isBase64: boolean;
  text: string;
}

function quotedBytes(text: string): Buffer {
  const bytes = Buffer.from(text.replaceAll('_', ' ')).toString('latin1');
  return Buffer.from(
    bytes.replace(/=([0-9a-f]{2})/gi, (_all, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    ),
    'latin1',
  );
}

function wordOf([, charset = '', encoding = '', text = '']: RegExpExecArray): Word {
  // RFC 2231 allows a language after the character set.
  return { charset: charset.split('*', 1)[0]?.toLowerCase() ?? '', isBase64: /b/i.test(encoding), text };
}

/** The bytes of words of one character set. Some programs cut base64 at any place. */
function bytesOf(words: readonly Word[]): Buffer {
  const pieces: Buffer[] = [];
  let open = '';
  for (const [index, { isBase64, text }] of words.entries()) {
    if (!isBase64) {
      pieces.push(quotedBytes(text));
      continue;
    }
    open += text.replace(/\s+/g, '');
    if (open.length % 4 !== 0 && !open.endsWith('=') && words[index + 1]?.isBase64) continue;
    pieces.push(Buffer.from(open, 'base64'));
    open = '';
  }
  return Buffer.concat(pieces);
}

/** Decodes words that follow each other. A character may begin in one and end in the next. */
function decodeRun(words: readonly Word[]): string {
  const pieces: string[] = [];
  for (let at = 0; at < words.length;) {
    const charset = words[at]?.charset ?? '';
    let end = at + 1;
    while (words[end]?.charset === charset) end += 1;
    pieces.push(decodeText(bytesOf(words.slice(at, end)), charset));
    at = end;
  }
  return pieces.join('');
}

/** @param write what to put in the place of words that follow each other */
function replaceRuns(text: string, write: (decoded: string) => string): string {
  const pieces: string[] = [];
  let run: Word[] = [];
  let at = 0;
  const endRun = () => {
    if (run.length > 0) pieces.push(write(decodeRun(run)));
    run = [];
  };
  for (const found of text.matchAll(WORD)) {
    const between = text.slice(at, found.index);
    if (run.length === 0 || !BETWEEN.test(between)) {
      endRun();
      pieces.push(between);
    }
    run.push(wordOf(found));
    at = found.index + found[0].length;
  }
  endRun();
  pieces.push(text.slice(at));
  return pieces.join('');
}

/** Decodes the encoded words of a text. */
export function decodeWords(text: string): string {
  return text.includes('=?') ? replaceRuns(text, (decoded) => decoded) : text;
}

/**
 * Writes words that follow each other as one, in UTF-8. Other parsers decode each word by itself, and know fewer character
 * sets. They stay encoded, because what they contain must not be taken for an address.
 */
export function joinWords(text: string): string {
  if (!text.includes('=?')) return text;
  return replaceRuns(text, (decoded) => `=?utf-8?B?${Buffer.from(decoded).toString('base64')}?=`);
}
