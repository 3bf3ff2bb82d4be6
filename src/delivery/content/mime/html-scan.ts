/** Scans HTML as a browser's tokenizer does, in linear time, and records the positions of its parts. */
import { QuoteType, Tokenizer, type TokenizerCallbacks } from 'htmlparser2';

export interface Range {
  start: number;
  end: number;
}

export interface Attribute extends Range {
  /** In lower case. `start` and `end` delimit the value, without its quotes. */
  name: string;
  quoted: boolean;
}

export interface UrlAttribute extends Attribute {
  /** Decoded. */
  value: string;
  kind: 'link' | 'image';
}

export interface Tag extends Range {
  /** In lower case. `start` is at the opening bracket, `end` is after the closing one. */
  name: string;
  /** Only those with a value. */
  attributes: readonly Attribute[];
  /** Whether it has the attribute `hidden`, with or without a value. */
  hidden: boolean;
}

/** An end tag. */
export interface Closing {
  /** In lower case. */
  name: string;
  /** The position of the opening bracket. */
  start: number;
}

export interface HtmlScan {
  tags: readonly Tag[];
  /** Excludes those in conditional comments. */
  closings: readonly Closing[];
  /** All attributes with a URL, including those of tags in conditional comments. */
  urls: readonly UrlAttribute[];
  /** Contents of `<style>` and `<script>`. */
  styles: readonly Range[];
  scripts: readonly Range[];
  comments: readonly Range[];
  /** The position after `<body …>`; -1: there is none. */
  bodyStart: number;
  /** The position of the last `</body>`; -1: there is none. */
  bodyEnd: number;
  hasHtmlTag: boolean;
}

const LINKS = new Set(['href', 'xlink:href']);
const IMAGES = new Set([
  'src',
  'srcset',
  'background',
  'poster',
  'action',
  'formaction',
  'data',
  'lowsrc',
  'dynsrc',
]);
/** Attributes and tags with longer names are ignored. */
const MAX_NAME = 64;

const isSpace = (code: number) => code === 0x20 || (code >= 0x09 && code <= 0x0d);

/**
 * Finds where the value of an attribute begins, which the tokenizer does not say.
 * @param nameEnd where its name ends
 * @param quoted whether the value is in quotation marks, which are no part of it
 */
export function valueStartIn(html: string, nameEnd: number, quoted: boolean): number {
  let at = nameEnd;
  while (isSpace(html.charCodeAt(at))) at += 1;
  at += 1;
  while (isSpace(html.charCodeAt(at))) at += 1;
  return quoted ? at + 1 : at;
}

function kindOf(attribute: string): 'link' | 'image' | null {
  if (LINKS.has(attribute)) return 'link';
  return IMAGES.has(attribute) ? 'image' : null;
}

class Scanner implements TokenizerCallbacks, HtmlScan {
  readonly tags: Tag[] = [];
  readonly closings: Closing[] = [];
  readonly urls: UrlAttribute[] = [];
  readonly styles: Range[] = [];
  readonly scripts: Range[] = [];
  readonly comments: Range[] = [];
  bodyStart = -1;
  bodyEnd = -1;
  hasHtmlTag = false;
  readonly #html: string;
  readonly #shift: number;
  #tag: { name: string; start: number; attributes: Attribute[]; hidden: boolean } | null = null;
  #name = '';
  #nameEnd = 0;
  #value = '';
  #kind: 'link' | 'image' | null = null;
  #rawText: Range | null = null;

  /** @param shift added to all positions */
  constructor(html: string, shift = 0) {
    this.#html = html;
    this.#shift = shift;
    const tokenizer = new Tokenizer({ decodeEntities: true }, this);
    tokenizer.write(html);
    tokenizer.end();
  }

  onopentagname(start: number, end: number): void {
    this.#closeRawText(start - 1);
    this.#tag = {
      name: this.#nameOf(start, end),
      start: start - 1 + this.#shift,
      attributes: [],
      hidden: false,
    };
  }

  onattribname(start: number, end: number): void {
    this.#name = this.#nameOf(start, end);
    this.#nameEnd = end;
    this.#value = '';
    this.#kind = kindOf(this.#name);
  }

  onattribdata(start: number, end: number): void {
    if (this.#kind) this.#value += this.#html.slice(start, end);
  }

  onattribentity(codePoint: number): void {
    if (this.#kind) this.#value += String.fromCodePoint(codePoint);
  }

  onattribend(quote: QuoteType, end: number): void {
    if (!this.#tag) return;
    if (this.#name === 'hidden') this.#tag.hidden = true;
    if (quote === QuoteType.NoValue) return;
    const quoted = quote !== QuoteType.Unquoted;
    const attribute = {
      name: this.#name,
      quoted,
      start: valueStartIn(this.#html, this.#nameEnd, quoted) + this.#shift,
      end: (quoted ? end - 1 : end) + this.#shift,
    };
    this.#tag.attributes.push(attribute);
    if (this.#kind) this.urls.push({ ...attribute, value: this.#value, kind: this.#kind });
  }

  onopentagend(end: number): void {
    const tag = this.#tag;
    if (!tag) return;
    this.#tag = null;
    this.tags.push({ ...tag, end: end + 1 + this.#shift });
    if (tag.name === 'html') this.hasHtmlTag = true;
    if (tag.name === 'body' && this.bodyStart < 0) this.bodyStart = end + 1 + this.#shift;
    const into = tag.name === 'style' ? this.styles : tag.name === 'script' ? this.scripts : null;
    if (!into) return;
    this.#rawText = { start: end + 1 + this.#shift, end: this.#html.length + this.#shift };
    into.push(this.#rawText);
  }

  onselfclosingtag(end: number): void {
    this.onopentagend(end);
    this.#rawText = null;
  }

  onclosetag(start: number, end: number): void {
    const name = this.#nameOf(start, end);
    const bracket = this.#html.lastIndexOf('<', start);
    this.#closeRawText(bracket);
    this.closings.push({ name, start: bracket + this.#shift });
    if (name === 'body') this.bodyEnd = bracket + this.#shift;
  }

  oncomment(start: number, end: number, endOffset: number): void {
    this.comments.push({ start: start + this.#shift, end: end - endOffset + this.#shift });
    if (this.#shift === 0 && this.#html.startsWith('[if', start))
      this.#scanConditional(start, end - endOffset);
  }

  oncdata(): void {
    // Mail has none.
  }

  ondeclaration(): void {
    // Nothing in it matters.
  }

  onprocessinginstruction(): void {
    // Nothing in it matters.
  }

  ontext(): void {
    // Nothing in it matters.
  }

  ontextentity(): void {
    // Nothing in it matters.
  }

  onend(): void {
    // Nothing is left to do.
  }

  /**
   * Outlook renders the content of `<!--[if mso]>…<![endif]-->`. Comments do not nest, so each is scanned only once.
   */
  #scanConditional(start: number, end: number): void {
    const comment = this.#html.slice(start, end);
    const opening = comment.indexOf(']>') + 2;
    if (opening < 2) return;
    const inner = new Scanner(comment.slice(opening), start + opening);
    for (const url of inner.urls) this.urls.push(url);
    for (const tag of inner.tags) this.tags.push(tag);
    for (const style of inner.styles) this.styles.push(style);
  }

  #closeRawText(end: number): void {
    if (this.#rawText) this.#rawText.end = end + this.#shift;
    this.#rawText = null;
  }

  #nameOf(start: number, end: number): string {
    return end - start > MAX_NAME ? '' : this.#html.slice(start, end).toLowerCase();
  }
}

export function scanHtml(html: string): HtmlScan {
  return new Scanner(html);
}
