/** Finds the places for tracking tokens in HTML. Everything else stays unchanged, byte for byte. */
import { QuoteType, Tokenizer, type TokenizerCallbacks } from 'htmlparser2';
import { valueStartIn } from './html-scan.ts';

/** How the links of a content are rewritten. Plain data, because a thread may prepare the content. */
export interface LinkTracking {
  /** Identifies these settings in cache keys of contents. */
  id: string;
  /** The prefix of a link's token, such as `https://links.example.com/c/`. Null: links are not rewritten. */
  clickPrefix: string | null;
  /** The prefix of the pixel's token. Null: no pixel. */
  openPrefix: string | null;
  /** Number of characters at the start of a token that do not depend on its URL; 0 by default. */
  recipientLength?: number;
  /**
   * Number of bytes in the rest of a token, not counting its URL. It is base64url, so its length follows from the
   * URL's.
   */
  tokenOverhead: number;
  /** Links with longer URLs are not rewritten. */
  maxUrlLength: number;
  /** Origins, perhaps with a path, whose links are not rewritten: Carillon's own pages. */
  ownBases: readonly string[];
}

/** A place for a token. */
export interface TokenSlot {
  /** 0: the pixel; n: `links[n - 1]`. */
  link: number;
  /** Length of the token, in characters. */
  length: number;
}

export interface TrackedHtml {
  /** The HTML around the slots: slot n is between pieces n and n + 1. */
  pieces: readonly string[];
  slots: readonly TokenSlot[];
  /** The distinct targets, in order of first occurrence. */
  links: readonly string[];
}

/** Maximum number of links that are rewritten, because each makes the email longer. */
const MAX_REWRITTEN = 1_000;
/** On an `<a>`, this attribute prevents rewriting. */
const OPT_OUT = 'data-no-track';
const LINK_TAGS = new Set(['a', 'area']);
/** Elements that contain only text: a pixel after an unclosed one would be shown as text. */
const TEXT_TAGS = new Set(['script', 'style', 'title', 'textarea', 'xmp']);
const LONGEST_NAME = Math.max(
  ...[...LINK_TAGS, ...TEXT_TAGS, OPT_OUT, 'body', 'href'].map((name) => name.length),
);

/** The range of an attribute in the source, without quotes, and its decoded value. */
export interface Href {
  start: number;
  end: number;
  value: string;
  /** Whether the attribute `data-no-track` prevents rewriting. */
  optedOut: boolean;
}

/** Finds the links of `<a>` and `<area>`, and where a pixel can be inserted. */
export class LinkFinder implements TokenizerCallbacks {
  /** The links of all `<a>` and `<area>`, in order. */
  readonly links: Href[] = [];
  readonly #html: string;
  #inLinkTag = false;
  #optedOut = false;
  #href: Omit<Href, 'optedOut'> | null = null;
  #name = '';
  #nameEnd = 0;
  #value = '';
  /** The end of the last complete token. */
  #consumed = 0;
  #bodyEnd = -1;
  /** The start of an unclosed comment or text-only element; -1: there is none. */
  #unclosedAt = -1;
  #unclosedTag = '';

  constructor(html: string) {
    this.#html = html;
    const tokenizer = new Tokenizer({ decodeEntities: true }, this);
    tokenizer.write(html);
    tokenizer.end();
  }

  get pixelAt(): number {
    if (this.#bodyEnd >= 0) return this.#bodyEnd;
    return this.#unclosedAt >= 0 ? this.#unclosedAt : this.#consumed;
  }

  onopentagname(start: number, end: number): void {
    const name = this.#nameOf(start, end);
    this.#inLinkTag = LINK_TAGS.has(name);
    this.#optedOut = false;
    this.#href = null;
    if (!TEXT_TAGS.has(name)) return;
    this.#unclosedAt = start - 1;
    this.#unclosedTag = name;
  }

  onattribname(start: number, end: number): void {
    if (!this.#inLinkTag) return;
    this.#name = this.#nameOf(start, end);
    this.#nameEnd = end;
    this.#value = '';
    if (this.#name === OPT_OUT) this.#optedOut = true;
  }

  onattribdata(start: number, end: number): void {
    if (this.#inLinkTag && this.#name === 'href') this.#value += this.#html.slice(start, end);
  }

  onattribentity(codePoint: number): void {
    if (this.#inLinkTag && this.#name === 'href') this.#value += String.fromCodePoint(codePoint);
  }

  onattribend(quote: QuoteType, end: number): void {
    // If an attribute occurs several times, browsers use the first.
    if (!this.#inLinkTag || this.#name !== 'href' || this.#href) return;
    if (quote === QuoteType.NoValue) this.#href = { start: end, end, value: '' };
    else {
      const quoted = quote !== QuoteType.Unquoted;
      this.#href = {
        start: valueStartIn(this.#html, this.#nameEnd, quoted),
        end: quoted ? end - 1 : end,
        value: this.#value,
      };
    }
  }

  onopentagend(end: number): void {
    this.#consumed = end + 1;
    if (this.#href) this.links.push({ ...this.#href, optedOut: this.#optedOut });
    this.#inLinkTag = false;
    this.#href = null;
  }

  onselfclosingtag(end: number): void {
    this.onopentagend(end);
    this.#unclosedAt = -1;
  }

  onclosetag(start: number, end: number): void {
    const name = this.#nameOf(start, end);
    // The tokenizer, too, skips everything up to this bracket.
    const close = this.#html.indexOf('>', end);
    if (close >= 0) this.#consumed = close + 1;
    if (name === 'body') this.#bodyEnd = this.#html.lastIndexOf('<', start);
    if (name === this.#unclosedTag) this.#unclosedAt = -1;
  }

  ontext(_start: number, end: number): void {
    this.#consumed = end;
  }

  ontextentity(_codePoint: number, end: number): void {
    this.#consumed = end;
  }

  oncomment(start: number, end: number, endOffset: number): void {
    if (endOffset > 0) this.#consumed = end + 1;
    else this.#unclosedAt = this.#html.lastIndexOf('<', start);
  }

  oncdata(start: number, end: number, endOffset: number): void {
    this.oncomment(start, end, endOffset);
  }

  ondeclaration(_start: number, end: number): void {
    this.#consumed = end + 1;
  }

  onprocessinginstruction(_start: number, end: number): void {
    this.#consumed = end + 1;
  }

  onend(): void {
    // Nothing is left to do.
  }

  #nameOf(start: number, end: number): string {
    return end - start > LONGEST_NAME ? '' : this.#html.slice(start, end).toLowerCase();
  }
}

const HTTP = /^https?:\/\//i;
/** The characters that are allowed in a Location header. */
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/** The URL as a browser resolves it; null if it is not an absolute HTTP URL. */
function parseTarget(text: string): URL | null {
  return HTTP.test(text) ? URL.parse(text) : null;
}

/** The URLs in a List-Unsubscribe header, as a browser resolves them. */
function unsubscribeUrls(headers: Readonly<Record<string, string>>): Set<string> {
  const urls = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    if (name.toLowerCase() !== 'list-unsubscribe') continue;
    for (const part of value.split('<').slice(1)) {
      const url = parseTarget(part.slice(0, Math.max(part.indexOf('>'), 0)).trim());
      if (url) urls.add(url.href);
    }
  }
  return urls;
}

function isOwn({ href }: URL, bases: readonly string[]): boolean {
  return bases.some((base) => href === base || href.startsWith(`${base}/`));
}

/**
 * The target of a link, for its token: as it is written if possible, else as a browser resolves it.
 * @param kept URLs that are not rewritten
 * @returns null if the link is not rewritten
 */
export function targetOf(
  { value, optedOut }: Pick<Href, 'value' | 'optedOut'>,
  tracking: LinkTracking,
  kept?: ReadonlySet<string>,
): string | null {
  if (tracking.clickPrefix === null || optedOut || value.length > 2 * tracking.maxUrlLength) return null;
  const text = value.trim();
  const url = parseTarget(text);
  if (!url || kept?.has(url.href) || isOwn(url, tracking.ownBases)) return null;
  const target = VISIBLE_ASCII.test(text) ? text : url.href;
  return target.length > tracking.maxUrlLength ? null : target;
}

const lengthOfToken = (target: string, { recipientLength = 0, tokenOverhead }: LinkTracking) =>
  recipientLength + tokenLengthOf(tokenOverhead + target.length);

const tokenLengthOf = (bytes: number) => Math.ceil((bytes * 4) / 3);

/**
 * Finds the links to rewrite and the place for the pixel, in linear time. It does not rewrite links that are not
 * absolute HTTP URLs, are too long, point to Carillon's own pages, or are in the List-Unsubscribe header. Comments and
 * malformed HTML stay unchanged, too.
 * @param html without NUL
 * @param headers the message's headers
 * @returns null if there is nothing to track
 */
export function trackHtml(
  html: string,
  headers: Readonly<Record<string, string>>,
  tracking: LinkTracking,
): TrackedHtml | null {
  const found = new LinkFinder(html);
  const kept = unsubscribeUrls(headers);
  const { recipientLength = 0 } = tracking;
  const numbers = new Map<string, number>();
  const pieces: string[] = [];
  const slots: TokenSlot[] = [];
  let done = 0;
  let before = '';
  const put = (start: number, end: number, prefix: string, slot: TokenSlot) => {
    pieces.push(before + html.slice(done, start) + prefix);
    slots.push(slot);
    done = end;
    before = '';
  };

  /** @returns the slot's link and length; null if the link is not rewritten */
  function slotOf(href: Href): TokenSlot | null {
    const target = targetOf(href, tracking, kept);
    if (target === null) return null;
    const length = lengthOfToken(target, tracking);
    const link = numbers.get(target) ?? numbers.size + 1;
    numbers.set(target, link);
    return { link, length };
  }

  const { pixelAt } = found;
  let pixelDue = tracking.openPrefix !== null;
  const putPixel = () => {
    pixelDue = false;
    const prefix = `<img src="${tracking.openPrefix ?? ''}`;
    put(pixelAt, pixelAt, prefix, {
      link: 0,
      length: recipientLength + tokenLengthOf(tracking.tokenOverhead),
    });
    before = '" width="1" height="1" alt="" style="display:block;border:0">';
  };
  if (tracking.clickPrefix !== null) {
    for (const href of found.links) {
      if (pixelDue && href.start >= pixelAt) putPixel();
      const slot = slots.length < MAX_REWRITTEN ? slotOf(href) : null;
      if (slot) put(href.start, href.end, tracking.clickPrefix, slot);
    }
  }
  if (pixelDue) putPixel();
  if (slots.length === 0) return null;
  pieces.push(before + html.slice(done));
  return { pieces, slots, links: [...numbers.keys()] };
}

/** Inserts the tokens into the HTML. @param tokens by slot */
export function htmlWithTokens({ pieces, slots }: TrackedHtml, tokens: readonly string[]): string {
  return slots.map((_slot, n) => `${pieces[n]}${tokens[n]}`).join('') + (pieces[slots.length] ?? '');
}
