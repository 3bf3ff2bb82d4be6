/**
 * Rewrites an SVG so that it contains nothing but shapes: no scripts, no external styles, no other images, no filters,
 * and few enough parts to be drawn in a moment.
 */
import { isTag, isText, type Element } from 'domhandler';
import { parseTree } from './document.ts';

const MAX_ELEMENTS = 2_000;
const MAX_DEPTH = 40;
const MAX_CHARACTERS = 500_000;
/** Maximum number of elements that all `<use>` elements draw again. */
const MAX_REUSED = 4_000;
/** Maximum number of characters in those elements: a path may have very many points. */
const MAX_REUSED_CHARACTERS = 1_000_000;

/** Elements by their names in lower case, the form that the HTML parser returns. */
const ELEMENTS = new Map(
  [
    'svg',
    'g',
    'path',
    'rect',
    'circle',
    'ellipse',
    'line',
    'polyline',
    'polygon',
    'defs',
    'stop',
    'linearGradient',
    'radialGradient',
    'clipPath',
    'mask',
    'use',
    'symbol',
    'style',
  ].map((name) => [name.toLowerCase(), name]),
);
/** Elements whose content is drawn as part of their parent. */
const GROUPS = new Set(['a', 'switch']);
/** Elements without which the image would look different. */
const NEEDED = new Set(['text', 'image', 'foreignobject', 'pattern']);

const ATTRIBUTES = new Map(
  [
    'id',
    'class',
    'style',
    'd',
    'points',
    'x',
    'y',
    'x1',
    'y1',
    'x2',
    'y2',
    'cx',
    'cy',
    'r',
    'rx',
    'ry',
    'fx',
    'fy',
    'width',
    'height',
    'viewBox',
    'preserveAspectRatio',
    'transform',
    'href',
    'xlink:href',
    'fill',
    'fill-opacity',
    'fill-rule',
    'clip-rule',
    'clip-path',
    'mask',
    'opacity',
    'color',
    'display',
    'stroke',
    'stroke-width',
    'stroke-opacity',
    'stroke-linecap',
    'stroke-linejoin',
    'stroke-miterlimit',
    'visibility',
    'offset',
    'stop-color',
    'stop-opacity',
    'gradientUnits',
    'gradientTransform',
    'spreadMethod',
    'clipPathUnits',
    'maskUnits',
    'maskContentUnits',
  ].map((name) => [name.toLowerCase(), name]),
);

/** A reference to anything but a part of the same image, or a rule that loads something. */
const FOREIGN = /url\(\s*["']?\s*(?!["'#])|@import|@font-face|\\/i;

/** Short dashes split a line into millions of parts. */
const DASHES = /stroke-dasharray/i;

class NotDrawableError extends Error {}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

function isSafe(name: string, value: string): boolean {
  if (name.endsWith('href')) return value.startsWith('#');
  return name === 'd' || name === 'points' || !FOREIGN.test(value);
}

function hasDashes(name: string, value: string): boolean {
  if (DASHES.test(name)) return value.trim().toLowerCase() !== 'none';
  return name.toLowerCase() === 'style' && DASHES.test(value);
}

class Writer {
  #text = '';
  #elements = 0;
  readonly #reused: string[] = [];
  /** Counts the elements in each element with an id, and finds out whether `<use>` is among them. */
  readonly #sizes = new Map<string, { size: number; characters: number; reuses: boolean }>();

  get text(): string {
    return this.#text;
  }

  #add(text: string): void {
    this.#text += text;
    if (this.#text.length > MAX_CHARACTERS) throw new NotDrawableError();
  }

  write(element: Element, extra: string, depth = 0): void {
    if (NEEDED.has(element.name)) throw new NotDrawableError();
    const name = ELEMENTS.get(element.name);
    if (name === undefined && !GROUPS.has(element.name)) return;
    if (depth > MAX_DEPTH || (this.#elements += 1) > MAX_ELEMENTS) throw new NotDrawableError();
    const [before, reusedBefore, start] = [this.#elements, this.#reused.length, this.#text.length];
    const attributes = Object.entries(element.attribs).map(([given, value]) => {
      if (hasDashes(given, value)) throw new NotDrawableError();
      const known = ATTRIBUTES.get(given.toLowerCase());
      return known && isSafe(known, value) ? ` ${known}="${escape(value)}"` : '';
    });
    this.#add(`<${name ?? 'g'}${extra}${attributes.join('')}>`);
    if (name === 'style') this.#addStyle(element);
    else this.#addChildren(element, depth);
    this.#add(`</${name ?? 'g'}>`);
    if (name === 'use') this.#reused.push(element.attribs.href ?? element.attribs['xlink:href'] ?? '');
    const { id } = element.attribs;
    if (id === undefined) return;
    const size = this.#elements - before + 1;
    const characters = this.#text.length - start;
    this.#sizes.set(`#${id}`, { size, characters, reuses: this.#reused.length > reusedBefore });
  }

  #addChildren(element: Element, depth: number): void {
    for (const child of element.children) if (isTag(child)) this.write(child, '', depth + 1);
  }

  #addStyle({ children }: Element): void {
    const css = children.map((child) => (isText(child) ? child.data : '')).join('');
    if (DASHES.test(css)) throw new NotDrawableError();
    if (!FOREIGN.test(css)) this.#add(escape(css));
  }

  /**
   * With several levels of `<use>`, the number of drawn elements could grow exponentially, so only one level is
   * allowed.
   */
  requireFew(): void {
    let [elements, total] = [0, 0];
    for (const target of this.#reused) {
      const known = this.#sizes.get(target);
      if (!known) continue;
      elements += known.size;
      total += known.characters;
      if (known.reuses || elements > MAX_REUSED || total > MAX_REUSED_CHARACTERS)
        throw new NotDrawableError();
    }
  }
}

const NAMESPACES = ' xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"';

/** @returns null if the image needs more than shapes, or has too many of them */
export function svgTextOf(element: Element): string | null {
  const writer = new Writer();
  try {
    writer.write(element, NAMESPACES);
    writer.requireFew();
    return writer.text;
  } catch (error) {
    if (error instanceof NotDrawableError) return null;
    throw error;
  }
}

/**
 * Cleans the text of an SVG file.
 * @returns null in the same cases as {@link svgTextOf}, or if it is not an SVG
 */
export function cleanSvg(text: string): string | null {
  const root = parseTree(text).children.find((node) => isTag(node) && node.name === 'svg');
  return root && isTag(root) ? svgTextOf(root) : null;
}
