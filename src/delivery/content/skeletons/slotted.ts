/**
 * Texts that differ between recipients in some places only. A text is the list of its constant parts: value n goes
 * between parts n and n + 1.
 */
import { QuoteType, Tokenizer, type TokenizerCallbacks } from 'htmlparser2';
import { normalizeText } from '../mime/body-encoding.ts';

/** Marks a value; a character for its number follows. It is from the private use area, so texts rarely contain it. */
const MARK = '\uE000';
const FIRST_NUMBER = 0xe001;
/** Maximum number of values in one text. */
const MAX_VALUES = 2_000;
/** How far before a value to look for an incomplete tag, in characters. */
const TAG_WINDOW = 64;

export type SlottedText = readonly string[];

/** A constant text, a value by its number, or {@link RECIPIENT}. */
export type Piece = string | number;

/** The recipient's token in a tracked link, used instead of the number of a value. */
export const RECIPIENT = -1;

/** @returns the text with a mark for each value; null if it cannot be marked */
export function markValues(text: SlottedText): string | null {
  if (text.length - 1 > MAX_VALUES) return null;
  // A CR at the end of a part could combine with an LF at the start of the value.
  if (text.some((part) => part.includes(MARK) || part.endsWith('\r') || !part.isWellFormed())) return null;
  const marked = text.map((part, n) => (n === 0 ? part : markOf(n - 1) + part));
  return normalizeText(marked.join(''));
}

export const markOf = (value: number): string => MARK + String.fromCharCode(FIRST_NUMBER + value);

export const hasMark = (text: string): boolean => text.includes(MARK);

/** Divides a marked text into its pieces. */
export function piecesOf(marked: string): Piece[] {
  const [first = '', ...rest] = marked.split(MARK);
  return [first, ...rest.flatMap((part): Piece[] => [part.charCodeAt(0) - FIRST_NUMBER, part.slice(1)])];
}

/** Whether a value can be inserted anywhere without affecting the text around it. */
export function isInsertable(value: string): boolean {
  return !value.includes('\r') && value.isWellFormed();
}

const countMarks = (text: string) => text.split(MARK).length - 1;

/** Counts the marks in texts, comments, and attribute values in quotes. */
class MarkCounter implements TokenizerCallbacks {
  count = 0;
  #inAttribute = 0;
  readonly #html: string;

  constructor(html: string) {
    this.#html = html;
    const tokenizer = new Tokenizer({ decodeEntities: true }, this);
    tokenizer.write(html);
    tokenizer.end();
  }

  #marksIn(start: number, end: number): number {
    return countMarks(this.#html.slice(start, end));
  }

  ontext(start: number, end: number): void {
    for (
      let at = this.#html.indexOf(MARK, start);
      at >= 0 && at < end;
      at = this.#html.indexOf(MARK, at + 1)
    ) {
      const before = this.#html.slice(Math.max(0, at - TAG_WINDOW), at);
      // With the value, `<` could begin a tag.
      if (before.lastIndexOf('<') <= before.lastIndexOf('>')) this.count += 1;
    }
  }

  onattribname(): void {
    this.#inAttribute = 0;
  }

  onattribdata(start: number, end: number): void {
    this.#inAttribute += this.#marksIn(start, end);
  }

  onattribend(quote: QuoteType): void {
    if (quote === QuoteType.Double || quote === QuoteType.Single) this.count += this.#inAttribute;
  }

  oncomment(start: number, end: number): void {
    this.count += this.#marksIn(start, end);
  }

  oncdata = (): void => undefined;
  onattribentity = (): void => undefined;
  onclosetag = (): void => undefined;
  ondeclaration = (): void => undefined;
  onend = (): void => undefined;
  onopentagend = (): void => undefined;
  onopentagname = (): void => undefined;
  onprocessinginstruction = (): void => undefined;
  onselfclosingtag = (): void => undefined;
  ontextentity = (): void => undefined;
}

/**
 * Whether the structure of the HTML is the same for all values, provided that they are escaped: each is in a text, in a
 * comment, or in a quoted attribute value.
 */
export function hasFixedStructure(marked: string): boolean {
  return new MarkCounter(marked).count === countMarks(marked);
}
