/** What a body in MJML shows, and what of its Liquid prints nothing. */
import type { Range } from '../mime/html-scan.ts';
import type { Placeholders } from './placeholders.ts';

const MAX_SHOWN = 40;
/** Byte order marks and characters without width are no words. */
export const VISIBLE = /[^\s\u00ad\u200b-\u200f\u2060\ufeff]/;
/** The named entities among them; others are numbers. */
const BLANK_NAMES = new Set(
  (
    'nbsp ensp emsp emsp13 emsp14 numsp puncsp thinsp ThinSpace hairsp MediumSpace NonBreakingSpace ZeroWidthSpace ' +
    'NoBreak shy zwnj zwj lrm rlm Tab NewLine'
  ).split(' '),
);
const ENTITY = /&(?:#x([0-9a-f]{1,5})|#(\d{1,6})|([a-z][a-z0-9]{1,30}));/gi;

/** Replaces entities that show nothing by spaces. */
const withoutBlanks = (text: string): string =>
  text.replaceAll(ENTITY, (entity, hex?: string, decimal?: string, name?: string) => {
    const isBlank =
      name === undefined
        ? !VISIBLE.test(String.fromCodePoint(hex === undefined ? Number(decimal) : parseInt(hex, 16)))
        : BLANK_NAMES.has(name);
    return isBlank ? ' '.repeat(entity.length) : entity;
  });

/** A body with placeholders instead of Liquid. */
export class MjmlText {
  readonly text: string;
  readonly #placeholders: Placeholders;
  /** Liquid that prints nothing: ranges in order, without overlap. */
  readonly #silent: readonly Range[];

  constructor(text: string, placeholders: Placeholders) {
    this.text = text;
    this.#placeholders = placeholders;
    this.#silent = placeholders.silentTags(text);
  }

  slice({ start, end }: Range): string {
    return this.text.slice(start, end);
  }

  /** The Liquid that prints nothing in a range. */
  silentIn(range: Range): string {
    return this.#silentNear(range)
      .filter(({ start, end }) => range.start <= start && end <= range.end)
      .map((each) => this.slice(each))
      .join('');
  }

  /** Whether a range is inside of Liquid that prints nothing, such as what `capture` encloses. */
  isSilent(range: Range): boolean {
    return this.#silentNear(range).some(({ start, end }) => start <= range.start && range.end <= end);
  }

  /** The first text in a range that is neither blank nor Liquid. */
  firstWords(range: Range): Range | null {
    const words = this.#placeholders
      .find(this.slice(range))
      .map(({ start, end }) => ({ start: range.start + start, end: range.start + end }));
    const liquid = [...this.#silentNear(range), ...words].toSorted((one, other) => one.start - other.start);
    return this.#firstBeside(liquid, range);
  }

  /** The first text in a range that is neither blank nor Liquid that prints nothing. */
  firstPrinted(range: Range): Range | null {
    return this.#firstBeside(this.#silentNear(range), range);
  }

  /** A text for its author. */
  show(range: Range): string {
    const text = this.#placeholders.show(this.slice(range)).replaceAll(/\s+/g, ' ');
    return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  }

  #firstBeside(gone: readonly Range[], { start, end }: Range): Range | null {
    let at = start;
    for (const range of [...gone, { start: end, end }]) {
      const piece = withoutBlanks(this.text.slice(at, Math.max(at, Math.min(range.start, end))));
      const first = piece.search(VISIBLE);
      if (first >= 0) return { start: at + first, end: at + piece.trimEnd().length };
      at = Math.max(at, range.end);
    }
    return null;
  }

  /** The ranges that overlap with a range. */
  #silentNear({ start, end }: Range): readonly Range[] {
    let low = 0;
    let high = this.#silent.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#silent[middle]?.end ?? 0) <= start) low = middle + 1;
      else high = middle;
    }
    let last = low;
    while ((this.#silent[last]?.start ?? end) < end) last += 1;
    return this.#silent.slice(low, last);
  }
}
