/**
 * Replaces Liquid by placeholders, so that code that edits HTML does not touch it, and puts the Liquid back. A
 * placeholder is a word of lower-case letters and digits, which stays unchanged in texts, attributes, URLs and styles.
 */
import { type TopLevelToken, Tokenizer, TokenKind } from 'liquidjs';

export interface LiquidToken {
  source: string;
  isOutput: boolean;
}

/** A placeholder in a text. */
export interface Placeholder {
  start: number;
  end: number;
  token: LiquidToken;
  index: number;
}

const MAX_TRIES = 1_000;

/** @returns a prefix that occurs in none of the texts */
function unusedPrefix(texts: readonly string[]): string {
  const lower = texts.map((text) => text.toLowerCase());
  for (let n = 0; n < MAX_TRIES; n += 1) {
    const prefix = `lq${n === 0 ? '' : `q${n}`}x`;
    if (!lower.some((text) => text.includes(prefix))) return prefix;
  }
  throw new Error('the text contains all possible placeholders for Liquid');
}

const COMMENT = /^\{%-?\s*(comment|#|endcomment)/;

export class Placeholders {
  readonly #prefix: string;
  readonly #pattern: RegExp;
  readonly #tokens: LiquidToken[] = [];

  /** @param texts all texts that will be passed to `hide` */
  constructor(texts: readonly string[]) {
    this.#prefix = unusedPrefix(texts);
    this.#pattern = new RegExp(`${this.#prefix}(\\d+)z`, 'g');
  }

  /** Replaces the Liquid in a text by placeholders, and removes comments. @throws an error of the Liquid library */
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

  /** Creates a placeholder. */
  add(token: LiquidToken): string {
    this.#tokens.push(token);
    return `${this.#prefix}${this.#tokens.length - 1}z`;
  }

  /** The placeholders in a text, in order. */
  find(text: string): Placeholder[] {
    const found: Placeholder[] = [];
    for (const { 0: word, 1: number, index: start } of text.matchAll(this.#pattern)) {
      const index = Number(number);
      const token = this.#tokens[index];
      if (token) found.push({ start, end: start + word.length, token, index });
    }
    return found;
  }

  /**
   * Replaces the placeholders in a text.
   * @param sourceOf what replaces a placeholder; by default the Liquid that it stands for
   */
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

  /** Placeholders that a text has lost. @param hidden a text that has all of them */
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
