/**
 * Puts words in the place of Liquid, so that what edits HTML leaves it alone, and puts the Liquid back. A word has only
 * letters and digits in lower case: it stays the same in texts, attributes, URLs and styles.
 */
import { type TopLevelToken, Tokenizer, TokenKind } from 'liquidjs';

export interface LiquidToken {
  source: string;
  isOutput: boolean;
}

/** A word in a text. */
export interface Placeholder {
  start: number;
  end: number;
  token: LiquidToken;
  index: number;
}

const MAX_TRIES = 1_000;

/** A word that no text has. */
function unusedPrefix(texts: readonly string[]): string {
  const lower = texts.map((text) => text.toLowerCase());
  for (let n = 0; n < MAX_TRIES; n += 1) {
    const prefix = `lq${n === 0 ? '' : `q${n}`}x`;
    if (!lower.some((text) => text.includes(prefix))) return prefix;
  }
  throw new Error('the text has all words that could stand for Liquid');
}

const COMMENT = /^\{%-?\s*(comment|#|endcomment)/;

export class Placeholders {
  readonly #prefix: string;
  readonly #pattern: RegExp;
  readonly #tokens: LiquidToken[] = [];

  /** @param texts all that will be hidden */
  constructor(texts: readonly string[]) {
    this.#prefix = unusedPrefix(texts);
    this.#pattern = new RegExp(`${this.#prefix}(\\d+)z`, 'g');
  }

  /** The text with words instead of Liquid. Comments are left out. @throws an error of Liquid */
  hide(text: string): string {
    if (!text.includes('{')) return text;
    const tokens: TopLevelToken[] = new Tokenizer(text).readTopLevelTokens();
    const pieces: string[] = [];
    let inComment = false;
    for (const token of tokens) {
      const source = text.slice(token.begin, token.end);
      if (token.kind === TokenKind.HTML) {
        if (!inComment) pieces.push(source);
        continue;
      }
      const [, comment] = (token.kind === TokenKind.Tag && COMMENT.exec(source)) || [];
      if (comment === 'comment') inComment = true;
      if (!inComment && comment !== '#')
        pieces.push(this.add({ source, isOutput: token.kind === TokenKind.Output }));
      if (comment === 'endcomment') inComment = false;
    }
    return pieces.join('');
  }

  /** A word for Liquid. */
  add(token: LiquidToken): string {
    this.#tokens.push(token);
    return `${this.#prefix}${this.#tokens.length - 1}z`;
  }

  /** The words in a text, in order. */
  find(text: string): Placeholder[] {
    const found: Placeholder[] = [];
    for (const { 0: word, 1: number, index: start } of text.matchAll(this.#pattern)) {
      const index = Number(number);
      const token = this.#tokens[index];
      if (token) found.push({ start, end: start + word.length, token, index });
    }
    return found;
  }

  /** The text with its Liquid. @param sourceOf what stands for a word; by default what was hidden */
  show(text: string, sourceOf: (placeholder: Placeholder) => string = ({ token }) => token.source): string {
    const pieces: string[] = [];
    let done = 0;
    for (const placeholder of this.find(text)) {
      pieces.push(text.slice(done, placeholder.start), sourceOf(placeholder));
      done = placeholder.end;
    }
    pieces.push(text.slice(done));
    return pieces.join('');
  }

  /** Liquid that a text has lost. @param hidden a text that has all of it */
  lost(hidden: string, text: string): Placeholder[] {
    const kept = new Set(this.find(text).map(({ index }) => index));
    return this.find(hidden).filter(({ index }) => !kept.has(index));
  }
}

/** Appends a filter to an output. */
export function withFilter(source: string, filter: string): string {
  const end = source.endsWith('-}}') ? source.length - 3 : source.length - 2;
  return `${source.slice(0, end).trimEnd()} | ${filter} ${source.slice(end)}`;
}
