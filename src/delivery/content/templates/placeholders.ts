/**
 * Replaces Liquid by placeholders, so that code that edits HTML does not touch it, and puts the Liquid back. A
 * placeholder is a word of lower-case letters and digits, which stays unchanged in texts, attributes, URLs and styles.
 */
import { type TopLevelToken, Tokenizer, TokenKind } from 'liquidjs';

export interface LiquidToken {
  source: string;
  isOutput: boolean;
  /** Its position in the text that was hidden; missing for tokens that an author did not write. */
  at?: number;
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
/** Tags that print something. All others only decide what is printed. */
const PRINTING = /^\{%-?\s*(?:echo|cycle|increment|decrement)\b|^\{%-?\s*liquid\b[^]*\becho\b/;
const CAPTURE = /^\{%-?\s*(capture|endcapture)\b/;

/** Counted from 1, in UTF-16 units. */
interface SourcePosition {
  line: number;
  column: number;
}

/** A text with placeholders, and what its parts were made from. */
export class HiddenText {
  readonly text: string;
  readonly #source: string;
  /** Ascending pairs of positions: in the text, in the source. */
  readonly #places: readonly (readonly [number, number])[];

  constructor(text: string, source: string, places: readonly (readonly [number, number])[]) {
    this.text = text;
    this.#source = source;
    this.#places = places;
  }

  /** Returns where a position in the text is in the source. */
  positionOf(position: number): SourcePosition {
    const [hidden, source] = this.#places.findLast(([start]) => start <= position) ?? [0, 0];
    return this.positionInSource(source + position - hidden);
  }

  positionInSource(position: number): SourcePosition {
    const before = this.#source.slice(0, position).split('\n');
    return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
  }

  /** Returns the line in the source of a line in the text, which has fewer lines. */
  lineOf(line: number): number {
    let start = 0;
    for (let n = 1; n < line; n += 1) start = this.text.indexOf('\n', start) + 1;
    return this.positionOf(start).line;
  }
}

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
    return this.hideWithPlaces(text).text;
  }

  /** As `hide`, for a text whose places are reported. */
  hideWithPlaces(text: string): HiddenText {
    if (!text.includes('{')) return new HiddenText(text, text, []);
    const tokens: TopLevelToken[] = new Tokenizer(text).readTopLevelTokens();
    const places: [number, number][] = [];
    let hidden = '';
    const put = (piece: string, at: number) => {
      places.push([hidden.length, at]);
      hidden += piece;
    };
    let inComment = false;
    for (const token of tokens) {
      const { begin: at, kind } = token;
      const source = text.slice(at, token.end);
      if (kind === TokenKind.HTML) {
        if (!inComment) put(source, at);
        continue;
      }
      const [, comment] = (kind === TokenKind.Tag && COMMENT.exec(source)) || [];
      if (comment === 'comment') inComment = true;
      if (!inComment && comment !== '#')
        put(this.add({ source, isOutput: kind === TokenKind.Output, at }), at);
      if (comment === 'endcomment') inComment = false;
    }
    return new HiddenText(hidden, text, places);
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
   * @param sourceOf what replaces a placeholder; by default the Liquid that it replaces
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

  /**
   * Divides a text at the tags that print nothing. Everything that `capture` encloses counts as one tag.
   * @returns ranges in order, without overlap
   */
  silentTags(text: string): { start: number; end: number }[] {
    const ranges: { start: number; end: number }[] = [];
    let depth = 0;
    let from = 0;
    for (const { start, end, token } of this.find(text)) {
      const capture = CAPTURE.exec(token.source)?.[1];
      if (capture === 'capture' && (depth += 1) === 1) from = start;
      if (depth === 0 && !token.isOutput && !PRINTING.test(token.source)) ranges.push({ start, end });
      if (capture === 'endcapture' && depth > 0 && (depth -= 1) === 0) ranges.push({ start: from, end });
    }
    return ranges;
  }

  /** The tags in a text that print nothing, one after the other. They keep their effect on what follows. */
  onlySilentTags(text: string): string {
    return this.silentTags(text)
      .map(({ start, end }) => text.slice(start, end))
      .join('');
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
