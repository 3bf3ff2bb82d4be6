/** Divides MJML into its tags, texts and comments, with their positions, in linear time. */
import { type QuoteType, Tokenizer, type TokenizerCallbacks } from 'htmlparser2';
import type { Range } from '../mime/html-scan.ts';

/** `unclosed` is a tag without an end, which lasts to the end of the text. */
type Kind = 'open' | 'close' | 'text' | 'comment' | 'cdata' | 'instruction' | 'declaration' | 'unclosed';

export interface MjmlPart extends Range {
  kind: Kind;
  /** Of a tag, in lower case. */
  name: string;
  /** The name of a tag, or the content of any other part. */
  inner: Range;
  selfClosing: boolean;
  hasAttributes: boolean;
  /** Whether the value of an attribute contains a tag of MJML, because its quotation mark is not closed. */
  hasTagInQuotes: boolean;
  /** False: a comment that lasts to the end of the text. */
  closed: boolean;
}

const TAG_OF_MJML = /<\/?mj/i;

class PartScanner implements TokenizerCallbacks {
  readonly parts: MjmlPart[] = [];
  readonly #text: string;
  #open: MjmlPart | null = null;
  /** The end of the last part. */
  #end = 0;

  constructor(text: string) {
    this.#text = text;
    const tokenizer = new Tokenizer({ decodeEntities: false }, this);
    tokenizer.write(text);
    tokenizer.end();
    if (this.#open) this.#put({ ...this.#open, kind: 'unclosed', end: text.length });
    else if (/^<\/?[a-z]/i.test(text.slice(this.#end, this.#end + 3)))
      this.#put(this.#part('unclosed', this.#end, text.length));
    this.#putText(text.length);
  }

  onopentagname(start: number, end: number): void {
    this.#open = this.#part('open', start - 1, end, { start, end });
  }

  onattribname(): void {
    if (this.#open) this.#open.hasAttributes = true;
  }

  onattribdata(start: number, end: number): void {
    if (this.#open && TAG_OF_MJML.test(this.#text.slice(start, end))) this.#open.hasTagInQuotes = true;
  }

  onattribend(_quote: QuoteType): void {
    // Nothing is left to do.
  }

  onattribentity(): void {
    // Entities are not decoded.
  }

  onopentagend(end: number): void {
    if (this.#open) this.#put({ ...this.#open, end: end + 1 });
    this.#open = null;
  }

  onselfclosingtag(end: number): void {
    if (this.#open) this.#open.selfClosing = true;
    this.onopentagend(end);
  }

  onclosetag(start: number, end: number): void {
    const bracket = this.#text.indexOf('>', end);
    const from = this.#text.lastIndexOf('<', start);
    this.#put(this.#part('close', from, bracket < 0 ? this.#text.length : bracket + 1, { start, end }));
  }

  oncomment(start: number, end: number, endOffset: number): void {
    this.#putEnclosed('comment', start, end, endOffset);
  }

  oncdata(start: number, end: number, endOffset: number): void {
    this.#putEnclosed('cdata', start, end, endOffset);
  }

  ondeclaration(start: number, end: number): void {
    this.#put(this.#part('declaration', this.#text.lastIndexOf('<', start), end + 1));
  }

  onprocessinginstruction(start: number, end: number): void {
    this.#put(this.#part('instruction', this.#text.lastIndexOf('<', start), end + 1));
  }

  ontext(): void {
    // Texts are what is left between the other parts.
  }

  ontextentity(): void {
    // Entities are not decoded.
  }

  onend(): void {
    // Nothing is left to do.
  }

  #part(kind: Kind, start: number, end: number, inner: Range = { start, end }): MjmlPart {
    const name = kind === 'open' || kind === 'close' ? this.#text.slice(inner.start, inner.end) : '';
    const flags = { selfClosing: false, hasAttributes: false, hasTagInQuotes: false, closed: true };
    return { kind, name: name.toLowerCase(), start, end, inner, ...flags };
  }

  #putEnclosed(kind: Kind, start: number, end: number, endOffset: number): void {
    const inner = { start, end: end - endOffset };
    const from = this.#text.lastIndexOf('<!', start - 1);
    const until = Math.min(end + 1, this.#text.length);
    this.#put({ ...this.#part(kind, from, until, inner), closed: endOffset > 0 });
  }

  #putText(end: number): void {
    if (end > this.#end) this.parts.push(this.#part('text', this.#end, end));
  }

  #put(part: MjmlPart): void {
    this.#putText(part.start);
    this.parts.push(part);
    this.#end = part.end;
  }
}

/** The parts of MJML, which together are the whole text. */
export function mjmlParts(text: string): readonly MjmlPart[] {
  return new PartScanner(text).parts;
}
