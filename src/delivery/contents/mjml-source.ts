/**
 * Prepares what an author wrote for MJML, which drops what it has no place for without a word: texts in columns, elements
 * that are not closed, everything before and after `<mjml>`.
 */
import presetCore from 'mjml-preset-core';
import { type Range, scanHtml } from '../mime/html-scan.ts';
import { VOID_ELEMENTS } from '../mime/hidden-elements.ts';
import { LiquidSyntaxError, parseLiquid } from './liquid.ts';
import { type MjmlPart, mjmlParts } from './mjml-parts.ts';
import { Placeholders } from './placeholders.ts';
import { applyEdits, type Edit } from './urls.ts';

/** Elements whose content is HTML. */
const ENDING = new Set(
  presetCore.components.filter((each) => each.endingTag).map((each) => each.componentName),
);
const KNOWN = new Set([
  ...presetCore.components.map((each) => each.componentName),
  ...['mjml', 'mj-all', 'mj-class', 'mj-selector', 'mj-html-attribute'],
]);
/** Elements whose texts are not shown, but not dropped either. */
const NOT_SHOWN = new Set(['mj-style', 'mj-html-attribute']);
/** Elements of `<mj-head>`. Elsewhere, MJML fails. */
const HEAD = new Set([
  'mj-attributes',
  'mj-breakpoint',
  'mj-font',
  'mj-html-attributes',
  'mj-preview',
  'mj-style',
  'mj-title',
]);
const INCLUDE = 'mj-include';
/** HTML elements whose content is neither shown nor HTML. */
const RAW_TEXT = new Set(['style', 'script']);
const MAX_SHOWN = 40;

/** A problem and its position in the text. */
export interface MjmlFault {
  at: number;
  message: string;
}

/** A text of which a mark shows whether MJML has kept it. */
interface Marked {
  at: number;
  text: string;
  element: string;
}

/** MJML that the library can convert. */
export interface MjmlSource {
  /** What could not be converted, in order. */
  faults: MjmlFault[];
  /** What could be better. */
  warnings: MjmlFault[];
  /** Liquid before and after the document, which prints nothing. */
  lead: string;
  trail: string;
  /** The document with marks, on the lines where its author wrote it. */
  mjml: string;
  /** @returns a fault for each text whose mark the HTML has lost */
  lostTexts(html: string): MjmlFault[];
  withoutMarks(html: string): string;
}

const DOCTYPE = /<!doctype\b[^>[]*\[([^\]]*)\]\s*>/i;
const ENTITY = /<!ENTITY\s+(?:%\s+)?([^\s%]+)/g;
/** Whether HTML defines an entity. */
const isDecodable = (name: string) => scanHtml(`<a href="&${name};">`).urls[0]?.value !== `&${name};`;
const newlines = (text: string) => text.replaceAll(/[^\n]/g, '');

/** Whether a body is MJML, or meant to be, rather than HTML or text. @param body with placeholders instead of Liquid */
export function isMjml(body: string): boolean {
  if (!/<mj/i.test(body)) return false;
  const parts = mjmlParts(withoutSubset(body).text);
  const root = parts.findIndex(({ kind, name }) => kind === 'open' && name === 'mjml');
  if (root >= 0) {
    const isFirst = parts
      .slice(0, root)
      .every(({ kind, start, end }) => isSilent(kind, body.slice(start, end)));
    return isFirst || /<mj-[a-z]/i.test(body.slice(parts[root]?.start));
  }
  const first = parts.find(({ kind, start, end }) => !isSilent(kind, body.slice(start, end)));
  if (first) return first.kind === 'open' && (KNOWN.has(first.name) || first.name === INCLUDE);
  const last = parts.at(-1);
  return last?.kind === 'comment' && !last.closed && /<mjml[\s>]/i.test(body.slice(last.start));
}

const isSilent = (kind: MjmlPart['kind'], text: string) =>
  ['comment', 'declaration', 'instruction'].includes(kind) || (kind === 'text' && text.trim() === '');

/** Replaces the internal subset of a DOCTYPE by spaces: the scanner would take its end for a text. */
function withoutSubset(text: string): { text: string; fault: MjmlFault | null } {
  const found = DOCTYPE.exec(text);
  if (!found || found.index > text.search(/<mjml[\s/>]/i)) return { text, fault: null };
  const { 0: doctype, 1: subset = '', index } = found;
  const declared = [...subset.matchAll(ENTITY)]
    .map(([, name = '']) => name)
    .find((name) => !isDecodable(name));
  const message = `the entity "${declared}" of the DOCTYPE is not supported`;
  const blank = doctype.replaceAll(/[^\n]/g, ' ');
  return {
    text: text.slice(0, index) + blank + text.slice(index + doctype.length),
    fault: declared === undefined ? null : { at: index, message },
  };
}

/** Reads the parts of a body one after another. */
class SourceReader {
  readonly faults: MjmlFault[] = [];
  readonly warnings: MjmlFault[] = [];
  readonly edits: Edit[] = [];
  readonly marked: Marked[] = [];
  readonly marks: Placeholders;
  readonly #text: string;
  readonly #placeholders: Placeholders;
  /** Liquid that prints nothing, in the whole text. */
  readonly #silent: readonly Range[];
  /** Where the document begins and ends. */
  root: Range | null = null;
  /** Liquid directly in `<mjml>`, which has its place before the document. */
  moved = '';
  readonly #open: string[] = [];
  /** The open element whose content is HTML. */
  #ending: { name: string; at: number; marked: boolean } | null = null;
  /** An open element that MJML does not know. */
  #unknown: { name: string; depth: number } | null = null;
  #inRawText = false;

  constructor(text: string, placeholders: Placeholders) {
    const plain = withoutSubset(text);
    if (plain.fault) this.faults.push(plain.fault);
    this.#text = plain.text;
    this.#placeholders = placeholders;
    this.#silent = placeholders.silentTags(plain.text);
    this.marks = new Placeholders([text, 'lqx']);
  }

  read(): void {
    for (const part of mjmlParts(this.#text)) if (!this.#readPart(part)) break;
    if (this.#ending) this.#fault(this.#ending.at, `<${this.#ending.name}> is not closed`);
    if (!this.root && this.faults.length === 0) this.#fault(0, 'there is no <mjml>');
  }

  /** The Liquid that prints nothing in a range. */
  silentIn({ start, end }: Range): string {
    return this.#silent
      .filter((range) => start <= range.start && range.end <= end)
      .map((range) => this.#text.slice(range.start, range.end))
      .join('');
  }

  /** @returns whether the rest can be understood */
  #readPart(part: MjmlPart): boolean {
    const { kind, start } = part;
    if (kind === 'unclosed') return this.#fault(start, 'a tag or a quotation mark is not closed');
    if (kind === 'comment' && !part.closed) return this.#fault(start, 'a comment is not closed');
    const isOutside = !this.root || this.root.end > 0;
    if (isOutside) return this.#readOutside(part);
    if (kind === 'open' && part.name === 'mjml') return this.#fault(start, 'a body has only one <mjml>');
    if (this.#unknown) this.#skipUnknown(part);
    else if (!this.#ending || this.#endsBefore(part)) this.#readElement(part);
    else this.#readContent(part, this.#ending);
    return true;
  }

  /** Reads what stands before or after the document. */
  #readOutside(part: MjmlPart): boolean {
    const { kind, name, start, end } = part;
    const side = this.root ? 'after </mjml>' : 'before <mjml>';
    if (kind === 'comment' || kind === 'declaration' || this.#isIn(part)) return true;
    if (kind === 'instruction') {
      if (/^<\?xml\b/i.test(this.#text.slice(start, end))) return true;
      return this.#fault(start, `${this.#show({ start, end })} is not run`);
    }
    if (kind === 'open' && name === 'mjml') {
      if (this.root) return this.#fault(start, 'a body has only one <mjml>');
      this.root = { start, end: 0 };
      this.#readElement(part);
      return true;
    }
    if (kind === 'open' || kind === 'close') {
      const tag = `<${kind === 'close' ? '/' : ''}${name}>`;
      if (!this.root && name.startsWith('mj-')) return this.#fault(start, `${tag} must stand in <mjml>`);
      return this.#fault(start, `${tag} stands ${side}`);
    }
    const shown = this.#shownIn(part.kind === 'cdata' ? part.inner : part);
    return shown
      ? this.#fault(shown.start, `"${this.#show(shown)}" stands ${side}, and would be lost`)
      : true;
  }

  /** Whether a part is inside of Liquid that prints nothing. */
  #isIn({ start, end }: Range): boolean {
    return this.#silent.some((range) => range.start <= start && end <= range.end);
  }

  /** The first text in a range that is neither blank nor Liquid that prints nothing. */
  #shownIn({ start, end }: Range, alsoOutputs = true): Range | null {
    const words = this.#placeholders.find(this.#text.slice(start, end));
    const liquid = words
      .filter(({ token }) => !alsoOutputs || !token.isOutput)
      .map((word) => ({ start: start + word.start, end: start + word.end }));
    const gone = alsoOutputs
      ? this.#silent
      : [...this.#silent, ...liquid].toSorted((a, b) => a.start - b.start);
    let at = start;
    for (const range of [
      ...gone.filter((each) => each.end > start && each.start < end),
      { start: end, end },
    ]) {
      const piece = this.#text.slice(at, Math.max(at, range.start));
      if (piece.trim() !== '') {
        const from = at + piece.length - piece.trimStart().length;
        return { start: from, end: from + piece.trim().length };
      }
      at = Math.max(at, range.end);
    }
    return null;
  }

  /** Ends an element with HTML at a tag of MJML, because it is not closed. */
  #endsBefore({ kind, name, start, end }: MjmlPart): boolean {
    const ending = this.#ending;
    if (!ending || (kind !== 'open' && kind !== 'close')) return false;
    if (!KNOWN.has(name) && name !== INCLUDE) return this.#keepUnknown(kind, name, start);
    if (kind === 'close' && name === ending.name) return false;
    const tag = this.#text.slice(start, end).startsWith('</') ? `</${name}>` : `<${name}>`;
    this.#fault(ending.at, `<${ending.name}> is not closed before ${tag}`);
    this.#ending = null;
    return true;
  }

  /** Reports an element in HTML that looks like one of MJML. Its words are kept. */
  #keepUnknown(kind: MjmlPart['kind'], name: string, at: number): false {
    if (kind === 'open' && name.startsWith('mj-'))
      this.warnings.push({ at, message: `<${name}> is not an element of MJML` });
    return false;
  }

  /** Reads a part of an element with HTML. */
  #readContent(part: MjmlPart, ending: { name: string; marked: boolean }): void {
    const { kind, name, inner } = part;
    if (kind === 'close' && name === ending.name) {
      this.#lowerCase(part);
      this.#ending = null;
    }
    if (kind === 'cdata') {
      this.edits.push(
        { start: part.start, end: inner.start, by: '' },
        { start: inner.end, end: part.end, by: '' },
      );
    }
    if (
      (kind === 'text' || kind === 'cdata') &&
      !this.#inRawText &&
      !ending.marked &&
      !NOT_SHOWN.has(ending.name)
    ) {
      const shown = this.#shownIn(inner, false);
      if (shown) this.#mark(shown, ending);
    }
    this.#inRawText = kind === 'open' && !part.selfClosing && RAW_TEXT.has(name);
  }

  #mark(shown: Range, ending: { name: string; marked: boolean }): void {
    ending.marked = true;
    this.marked.push({ at: shown.start, text: this.#show(shown), element: ending.name });
    const word = this.marks.add({ source: '', isOutput: false });
    this.edits.push({ start: shown.end, end: shown.end, by: word });
  }

  #skipUnknown({ kind, name, selfClosing }: MjmlPart): void {
    const unknown = this.#unknown;
    if (!unknown || name !== unknown.name) return;
    if (kind === 'open' && !selfClosing) unknown.depth += 1;
    if (kind === 'close' && (unknown.depth -= 1) === 0) this.#unknown = null;
  }

  /** Reads a part between elements of MJML. */
  #readElement(part: MjmlPart): void {
    const parent = this.#open.at(-1) ?? '';
    switch (part.kind) {
      case 'open':
        return this.#readOpen(part, parent);
      case 'close':
        return this.#readClose(part);
      case 'comment':
        return this.#readComment(part, parent);
      case 'text':
      case 'cdata':
        return this.#readText(part, parent);
      default:
    }
  }

  #readOpen(part: MjmlPart, parent: string): void {
    const { name, start, selfClosing, hasAttributes, hasTagInQuotes } = part;
    this.#lowerCase(part);
    if (hasTagInQuotes) this.#fault(start, `a quotation mark of <${name}> is not closed`);
    if (name === INCLUDE) this.#fault(start, '<mj-include> cannot be used: a template has no files');
    else if (!KNOWN.has(name) && parent !== 'mj-attributes') {
      const isEmpty = selfClosing || VOID_ELEMENTS.has(name);
      if (!isEmpty) this.#unknown = { name, depth: 1 };
      if (hasAttributes || !isEmpty)
        this.#fault(start, `<${name}> is not an element of MJML, and would be lost`);
    } else if (HEAD.has(name) && parent !== 'mj-head') this.#fault(start, `<${name}> belongs in <mj-head>`);
    else if (parent === 'mj-head' && !HEAD.has(name) && name !== 'mj-raw')
      this.#fault(start, `<${name}> does not belong in <mj-head>`);
    if (selfClosing || this.#unknown || VOID_ELEMENTS.has(name) || name === INCLUDE) return;
    if (ENDING.has(name)) {
      this.#ending = { name, at: start, marked: false };
      this.#inRawText = false;
    } else this.#open.push(name);
  }

  #readClose(part: MjmlPart): void {
    this.#lowerCase(part);
    const at = this.#open.lastIndexOf(part.name);
    if (at >= 0) this.#open.length = at;
    if (this.root && this.#open.length === 0) this.root.end = part.end;
  }

  /** A comment stays out of the HTML, but its Liquid keeps its effect on what follows. */
  #readComment({ start, end }: MjmlPart, parent: string): void {
    const liquid = this.silentIn({ start, end });
    const isMoved = parent === 'mjml' && this.#move(liquid);
    const by = liquid === '' || isMoved ? '' : `<mj-raw>${liquid}</mj-raw>`;
    this.edits.push({ start, end, by: by + newlines(this.#text.slice(start, end)) });
  }

  #readText({ start, inner }: MjmlPart, parent: string): void {
    if (parent === 'mj-html-attribute') return;
    const shown = this.#shownIn(inner, false);
    if (shown) this.#fault(shown.start, `"${this.#show(shown)}" stands in <${parent}>, which shows no text`);
    const liquid = parent === 'mjml' ? this.silentIn(inner) : '';
    if (liquid !== '' && this.#move(liquid))
      this.edits.push({ ...inner, by: newlines(this.#text.slice(start, inner.end)) });
  }

  /** Moves Liquid before the document, unless its tags enclose elements. */
  #move(liquid: string): boolean {
    try {
      parseLiquid(this.#placeholders.show(liquid), 'text');
    } catch (error) {
      if (error instanceof LiquidSyntaxError) return false;
      throw error;
    }
    this.moved += liquid;
    return true;
  }

  /** MJML searches for the end of an element in lower case. */
  #lowerCase({ name, inner }: MjmlPart): void {
    if (this.#text.slice(inner.start, inner.end) !== name) this.edits.push({ ...inner, by: name });
  }

  #show({ start, end }: Range): string {
    const text = this.#placeholders.show(this.#text.slice(start, end)).replaceAll(/\s+/g, ' ');
    return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  }

  #fault(at: number, message: string): false {
    this.faults.push({ at, message });
    return false;
  }
}

/** @param text a body, with placeholders instead of Liquid */
export function readMjml(text: string, placeholders: Placeholders): MjmlSource {
  const reader = new SourceReader(text, placeholders);
  reader.read();
  const { marks, marked, root } = reader;
  const start = root?.start ?? 0;
  const end = root && root.end > 0 ? root.end : text.length;
  const inside = reader.edits
    .filter((edit) => edit.start >= start)
    .map((edit) => ({ ...edit, start: edit.start - start, end: edit.end - start }));
  const mjml = newlines(text.slice(0, start)) + applyEdits(text.slice(start, end), inside);
  return {
    faults: reader.faults.toSorted((one, other) => one.at - other.at),
    warnings: reader.warnings,
    lead: reader.silentIn({ start: 0, end: start }) + reader.moved,
    trail: reader.silentIn({ start: end, end: text.length }),
    mjml,
    lostTexts: (html) =>
      marks.lost(mjml, html).map(({ index }) => {
        const { at, text: lost, element } = marked[index] as Marked;
        return { at, message: `"${lost}" stands in <${element}>, which shows no text here` };
      }),
    withoutMarks: (html) => marks.show(html, () => ''),
  };
}
