/** Reads the stylesheet rules that concern colors and fonts. */
import { type CssNode, ident, parse } from 'css-tree';
import { webAddress } from './texts.ts';

/** Maximum number of rules in all stylesheets of a page. */
const MAX_RULES = 20_000;
const MAX_DEPTH = 16;
const MAX_PRELUDE = 1_000;
const MAX_VALUE = 500;
const MAX_LAYERS = 200;
/** The screen width assumed in media queries, in pixels. */
const SCREEN_WIDTH = 1_280;
const PIXELS_PER_EM = 16;

const PROPERTIES = new Set(['color', 'background', 'background-color', 'font', 'font-family', 'fill']);

export interface Declaration {
  /** In lower case, except for custom properties. */
  property: string;
  value: string;
  important: boolean;
}

export interface Rule {
  selectors: string;
  declarations: readonly Declaration[];
  /** Rules of a later cascade layer win; rules outside all layers win over layered ones. */
  layer: number;
}

/** The rules of a page's stylesheets, in order. */
export class Stylesheets {
  readonly rules: Rule[] = [];
  readonly #layers = new Map<string, number>();

  /** Adds the rules of a stylesheet. Ignores invalid CSS, as browsers do. */
  add(css: string): void {
    const sheet = parseCss(css);
    if (sheet) this.#read(sheet, { layer: '', depth: 0 });
  }

  #layer(name: string): number {
    const known = this.#layers.get(name);
    if (known !== undefined) return known;
    const rank = Math.min(this.#layers.size, MAX_LAYERS);
    if (rank < MAX_LAYERS) this.#layers.set(name, rank);
    return rank;
  }

  #read(node: CssNode, at: { layer: string; depth: number }): void {
    if (!('children' in node) || node.children === null || at.depth > MAX_DEPTH) return;
    for (const child of node.children) {
      if (typeof child === 'string') continue;
      if (child.type === 'Rule') this.#addRule(child, at.layer);
      if (child.type === 'Atrule') this.#enter(child, at);
    }
  }

  #enter(rule: CssNode & { type: 'Atrule' }, { layer, depth }: { layer: string; depth: number }): void {
    const name = rule.name.toLowerCase();
    const prelude = rawText(rule.prelude);
    if (name === 'layer') {
      const names = prelude.split(',').map((each) => `${layer}.${each.trim()}`.slice(0, MAX_PRELUDE));
      for (const each of names.slice(0, MAX_LAYERS)) this.#layer(each);
      if (rule.block) this.#read(rule.block, { layer: names[0] ?? layer, depth: depth + 1 });
    } else if (rule.block && (name === 'supports' || (name === 'media' && isShown(prelude)))) {
      this.#read(rule.block, { layer, depth: depth + 1 });
    }
  }

  #addRule(rule: CssNode & { type: 'Rule' }, layer: string): void {
    const selectors = rawText(rule.prelude);
    if (this.rules.length >= MAX_RULES || selectors === '' || selectors.length > MAX_PRELUDE) return;
    const declarations = declarationsIn(rule.block);
    if (declarations.length === 0) return;
    this.rules.push({ selectors, declarations, layer: layer === '' ? Infinity : this.#layer(layer) });
  }
}

const options = {
  parseValue: false,
  parseCustomProperty: false,
  parseRulePrelude: false,
  parseAtrulePrelude: false,
} as const;

/** @returns null if it is nested too deeply for the parser */
function parseCss(css: string, context: 'stylesheet' | 'declarationList' = 'stylesheet'): CssNode | null {
  try {
    return parse(css, { ...options, context });
  } catch {
    return null;
  }
}

function rawText(node: CssNode | null): string {
  return node?.type === 'Raw' ? node.value.trim() : '';
}

function declarationsIn(block: CssNode | null): Declaration[] {
  if (!block || !('children' in block) || block.children === null) return [];
  const found: Declaration[] = [];
  for (const node of block.children) {
    if (typeof node === 'string' || node.type !== 'Declaration') continue;
    const { property: given, important } = node;
    const property = given.startsWith('--') ? ident.decode(given) : given.toLowerCase();
    const value = rawText(node.value);
    if (value === '' || value.length > MAX_VALUE) continue;
    if (!property.startsWith('--') && !PROPERTIES.has(property)) continue;
    found.push({ property, value, important: important !== false });
  }
  return found;
}

/** The declarations in a `style` attribute. */
export function inlineDeclarations(style: string): Declaration[] {
  return declarationsIn(parseCss(style.slice(0, MAX_VALUE * 10), 'declarationList'));
}

const WIDTH = /(min|max)-width\s*:\s*(\d{1,6}(?:\.\d{1,6})?)(px|r?em)/g;

/** Whether a media query applies to a light screen of ordinary width. */
function isShown(query: string): boolean {
  const text = query.toLowerCase();
  if (/prefers-color-scheme\s*:\s*dark|forced-colors\s*:\s*active/.test(text)) return false;
  if (/\bprint\b|\bspeech\b/.test(text) && !/\bscreen\b|\ball\b|\bnot\b/.test(text)) return false;
  for (const [, bound, number, unit] of text.matchAll(WIDTH)) {
    const pixels = Number(number) * (unit === 'px' ? 1 : PIXELS_PER_EM);
    if (bound === 'min' ? pixels > SCREEN_WIDTH : pixels < SCREEN_WIDTH) return false;
  }
  return true;
}

const IMPORT = /^(?:url\(\s*)?(?:"([^"]*)"|'([^']*)'|([^"')\s]+))/i;

/**
 * The URLs of the stylesheets that a stylesheet imports.
 * @param base the stylesheet's own URL
 */
export function importsOf(css: string, base: string): string[] {
  const sheet = parseCss(css);
  if (sheet?.type !== 'StyleSheet') return [];
  const found: string[] = [];
  for (const node of sheet.children) {
    if (node.type !== 'Atrule' || node.name.toLowerCase() !== 'import') continue;
    const [whole, one, two, three] = IMPORT.exec(rawText(node.prelude)) ?? [];
    if (whole === undefined) continue;
    const address = webAddress(one ?? two ?? three ?? '', base);
    if (address && isShown(rawText(node.prelude).slice(whole.length))) found.push(address);
    if (found.length >= MAX_IMPORTS) break;
  }
  return found;
}

const MAX_IMPORTS = 20;
