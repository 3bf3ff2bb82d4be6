/**
 * Prepares what an author wrote for MJML, which drops what it has no place for without a word: texts in columns, elements
 * that are not closed, everything before and after `<mjml>`.
 */
import type { Range } from '../mime/html-scan.ts';
import { VOID_ELEMENTS } from '../mime/hidden-elements.ts';
import { LiquidSyntaxError, parseLiquid } from './liquid.ts';
import { ENDING, HEAD, INCLUDE, KNOWN, type MjmlFault, withoutSubset } from './mjml-kind.ts';
import { type MjmlPart, mjmlParts } from './mjml-parts.ts';
import { MjmlText } from './mjml-text.ts';
import { Placeholders } from './placeholders.ts';
import { applyEdits, type Edit } from './urls.ts';

/** Elements whose texts are not shown, but not dropped either. */
const NOT_SHOWN = new Set(['mj-style', 'mj-html-attribute']);
/** HTML elements whose content is neither shown nor HTML. */
const RAW_TEXT = new Set(['style', 'script']);

/** A text with a mark that shows whether MJML has kept it. */
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

const newlines = (text: string) => text.replaceAll(/[^\n]/g, '');

const IN_MJML = new Set(['mj-head', 'mj-body', 'mj-raw']);
const isKnown = (name: string, parent: string) => KNOWN.has(name) || parent === 'mj-attributes';

/** What is wrong with an element at its position; null if nothing is. */
function faultOfElement({ name, selfClosing, hasAttributes }: MjmlPart, parent: string): string | null {
  if (name === INCLUDE) return 'cannot be used: a template has no files';
  if (!isKnown(name, parent)) {
    const isEmpty = selfClosing || VOID_ELEMENTS.has(name);
    return isEmpty && !hasAttributes ? null : 'is not an element of MJML, and would be lost';
  }
  if (HEAD.has(name)) return parent === 'mj-head' ? null : 'belongs in <mj-head>';
  if (parent === 'mjml' && !IN_MJML.has(name)) return 'must stand in <mj-body>';
  return parent === 'mj-head' && name !== 'mj-raw' ? 'does not belong in <mj-head>' : null;
}

/** Reads the parts of a body one after another. */
class SourceReader {
  readonly faults: MjmlFault[] = [];
  readonly warnings: MjmlFault[] = [];
  readonly edits: Edit[] = [];
  readonly marked: Marked[] = [];
  readonly marks: Placeholders;
  readonly body: MjmlText;
  readonly #placeholders: Placeholders;
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
    this.body = new MjmlText(plain.text, placeholders);
    this.#placeholders = placeholders;
    this.marks = new Placeholders([text, 'lqx']);
  }

  read(): void {
    for (const part of mjmlParts(this.body.text)) if (!this.#readPart(part)) break;
    if (this.#ending) this.#fault(this.#ending.at, `<${this.#ending.name}> is not closed`);
    if (!this.root && this.faults.length === 0) this.#fault(0, 'there is no <mjml>');
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

  /** Reads what is before or after the document. */
  #readOutside(part: MjmlPart): boolean {
    if (part.kind === 'open' && part.name === 'mjml') return this.#readRoot(part);
    const message = this.body.isSilent(part) ? null : this.#outsideFault(part);
    return message === null || this.#fault(part.start, message);
  }

  #readRoot(part: MjmlPart): boolean {
    if (this.root) return this.#fault(part.start, 'a body has only one <mjml>');
    this.root = { start: part.start, end: 0 };
    this.#readElement(part);
    return true;
  }

  #outsideFault({ kind, name, start, end, inner }: MjmlPart): string | null {
    const side = this.root ? 'after </mjml>' : 'before <mjml>';
    switch (kind) {
      case 'open':
      case 'close': {
        const tag = `<${kind === 'close' ? '/' : ''}${name}>`;
        return !this.root && name.startsWith('mj-') ? `${tag} must stand in <mjml>` : `${tag} stands ${side}`;
      }
      case 'instruction':
        if (/^<\?xml\b/i.test(this.body.slice({ start, end }))) return null;
        return `${this.body.show({ start, end })} is not run`;
      case 'text':
      case 'cdata': {
        const printed = this.body.firstPrinted(inner);
        if (!printed) return null;
        this.#fault(printed.start, `"${this.body.show(printed)}" stands ${side}, and would be lost`);
        return null;
      }
      default:
        return null;
    }
  }

  /** Ends an element with HTML at a tag of MJML, because it is not closed. */
  #endsBefore({ kind, name, start }: MjmlPart): boolean {
    const ending = this.#ending;
    if (!ending || (kind !== 'open' && kind !== 'close')) return false;
    if (!KNOWN.has(name) && name !== INCLUDE) return this.#keepUnknown(kind, name, start);
    if (kind === 'close' && name === ending.name) return false;
    const tag = kind === 'close' ? `</${name}>` : `<${name}>`;
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
      const shown = this.body.firstWords(inner);
      if (shown) this.#mark(shown, ending);
    }
    this.#inRawText = kind === 'open' && !part.selfClosing && RAW_TEXT.has(name);
  }

  #mark(shown: Range, ending: { name: string; marked: boolean }): void {
    ending.marked = true;
    this.marked.push({ at: shown.start, text: this.body.show(shown), element: ending.name });
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
      case 'instruction':
        this.#fault(part.start, `${this.body.show(part)} is not run`);
        return;
      default:
    }
  }

  #readOpen(part: MjmlPart, parent: string): void {
    const { name, start, selfClosing, hasTagInQuotes } = part;
    this.#lowerCase(part);
    if (hasTagInQuotes) this.#fault(start, `a quotation mark of <${name}> is not closed`);
    const fault = faultOfElement(part, parent);
    if (fault !== null) this.#fault(start, `<${name}> ${fault}`);
    if (selfClosing || VOID_ELEMENTS.has(name) || name === INCLUDE) return;
    if (ENDING.has(name)) {
      this.#ending = { name, at: start, marked: false };
      this.#inRawText = false;
    } else if (isKnown(name, parent)) this.#open.push(name);
    else this.#unknown = { name, depth: 1 };
  }

  #readClose(part: MjmlPart): void {
    this.#lowerCase(part);
    const at = this.#open.lastIndexOf(part.name);
    if (at >= 0) this.#open.length = at;
    if (this.root && this.#open.length === 0) this.root.end = part.end;
  }

  /** A comment stays out of the HTML, but its Liquid keeps its effect on what follows. */
  #readComment({ start, end }: MjmlPart, parent: string): void {
    const liquid = this.body.silentIn({ start, end });
    const isMoved = parent === 'mjml' && this.#move(liquid);
    const by = liquid === '' || isMoved ? '' : `<mj-raw>${liquid}</mj-raw>`;
    this.edits.push({ start, end, by: by + newlines(this.body.slice({ start, end })) });
  }

  #readText({ start, inner }: MjmlPart, parent: string): void {
    if (parent === 'mj-html-attribute') return;
    const shown = this.body.firstWords(inner);
    if (shown)
      this.#fault(shown.start, `"${this.body.show(shown)}" stands in <${parent}>, which shows no text`);
    const liquid = parent === 'mjml' ? this.body.silentIn(inner) : '';
    if (liquid !== '' && this.#move(liquid))
      this.edits.push({ ...inner, by: newlines(this.body.slice({ start, end: inner.end })) });
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
    if (this.body.slice(inner) !== name) this.edits.push({ ...inner, by: name });
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
    lead: reader.body.silentIn({ start: 0, end: start }) + reader.moved,
    trail: reader.body.silentIn({ start: end, end: text.length }),
    mjml,
    lostTexts: (html) =>
      marks.lost(mjml, html).map(({ index }) => {
        const { at, text: lost, element } = marked[index] as Marked;
        return { at, message: `"${lost}" stands in <${element}>, which shows no text here` };
      }),
    withoutMarks: (html) => marks.show(html, () => ''),
  };
}
