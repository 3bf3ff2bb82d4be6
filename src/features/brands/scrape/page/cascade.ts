/** Finds the declarations that apply to a few elements of a page, by the rules of the CSS cascade. */
import { compile } from 'css-select';
import { AttributeAction, type AttributeSelector, parse, type Selector, SelectorType } from 'css-what';
import type { Element } from 'domhandler';
import { type Declaration, inlineDeclarations, type Stylesheets } from './stylesheets.ts';

const MAX_SELECTORS = 40;

interface Winner {
  value: string;
  important: boolean;
  layer: number;
  specificity: number;
}

/** Declared values by property. */
export type Style = ReadonlyMap<string, string>;

/** The tags, classes and ids of the elements. A selector that names any other matches none of them. */
interface Names {
  tags: Set<string>;
  classes: Set<string>;
  ids: Set<string>;
}

function namesOf(elements: readonly Element[]): Names {
  const names: Names = { tags: new Set(), classes: new Set(), ids: new Set() };
  for (const { name, attribs } of elements) {
    names.tags.add(name);
    for (const each of (attribs.class ?? '').split(/\s+/)) names.classes.add(each);
    if (attribs.id !== undefined) names.ids.add(attribs.id);
  }
  return names;
}

const COMBINATORS: ReadonlySet<string> = new Set([
  SelectorType.Descendant,
  SelectorType.Child,
  SelectorType.Adjacent,
  SelectorType.Sibling,
  SelectorType.Parent,
  SelectorType.ColumnCombinator,
]);

const isId = ({ name, action }: AttributeSelector) => name === 'id' && action === AttributeAction.Equals;

/** Whether the last compound of a selector names only tags, classes and ids that the elements have. */
function mayMatch(selector: readonly Selector[], names: Names): boolean {
  for (let n = selector.length - 1; n >= 0; n -= 1) {
    const token = selector[n];
    if (!token || COMBINATORS.has(token.type)) return true;
    if (token.type === SelectorType.PseudoElement) return false;
    if (token.type === SelectorType.Tag && !names.tags.has(token.name.toLowerCase())) return false;
    if (token.type !== SelectorType.Attribute) continue;
    if (token.action === AttributeAction.Element && !names.classes.has(token.value)) return false;
    if (isId(token) && !names.ids.has(token.value)) return false;
  }
  return true;
}

function specificityOf(selector: readonly Selector[]): number {
  let sum = 0;
  for (const token of selector) {
    if (token.type === SelectorType.Tag) sum += 1;
    else if (token.type === SelectorType.Attribute) sum += isId(token) ? 10_000 : 100;
    else if (token.type === SelectorType.Pseudo && token.name !== 'where') sum += 100;
  }
  return sum;
}

function isStronger(one: Winner, other: Winner): boolean {
  if (one.important !== other.important) return one.important;
  if (one.layer !== other.layer) return one.layer > other.layer;
  return one.specificity >= other.specificity;
}

/** States such as `:hover` never apply. */
const STATES = new Set([
  'hover',
  'focus',
  'focus-visible',
  'focus-within',
  'active',
  'visited',
  'target',
  'disabled',
  'selection',
]);

function parseSelectors(text: string): Selector[][] {
  try {
    return parse(text).slice(0, MAX_SELECTORS);
  } catch {
    return [];
  }
}

/** @returns null for a selector that is not supported, or that requires a state */
function matcherOf(selector: Selector[]): ((element: Element) => boolean) | null {
  if (selector.some((token) => token.type === SelectorType.Pseudo && STATES.has(token.name))) return null;
  try {
    return compile<unknown, Element>([selector]);
  } catch {
    return null;
  }
}

/**
 * Computes what the stylesheets and the attribute `style` declare for each of the elements. Nothing is inherited.
 * @param elements a few dozen
 */
export function stylesOf(elements: readonly Element[], { rules }: Stylesheets): Map<Element, Style> {
  const names = namesOf(elements);
  const winners = new Map<Element, Map<string, Winner>>(elements.map((element) => [element, new Map()]));

  const apply = (
    element: Element,
    declarations: readonly Declaration[],
    rank: Pick<Winner, 'layer' | 'specificity'>,
  ) => {
    const own = winners.get(element);
    for (const { property, value, important } of declarations) {
      const winner = { value, important, ...rank };
      // A shorthand replaces its longhand properties.
      for (const name of property === 'background' ? [property, 'background-color'] : [property]) {
        const former = own?.get(name);
        if (!former || isStronger(winner, former)) own?.set(name, winner);
      }
    }
  };

  for (const { selectors, declarations, layer } of rules) {
    for (const selector of parseSelectors(selectors)) {
      if (!mayMatch(selector, names)) continue;
      const matches = matcherOf(selector);
      if (!matches) continue;
      const specificity = specificityOf(selector);
      for (const element of elements) {
        if (matches(element)) apply(element, declarations, { layer, specificity });
      }
    }
  }
  for (const element of elements) {
    const { style } = element.attribs;
    if (style) apply(element, inlineDeclarations(style), { layer: Infinity, specificity: Infinity });
  }
  return new Map(
    [...winners].map(([element, own]) => [
      element,
      new Map([...own].map(([property, { value }]) => [property, value])),
    ]),
  );
}

const MAX_LENGTH = 500;
const MAX_STEPS = 100;

/**
 * Replaces `var(…)` with the values of custom properties.
 * @returns null if one has no value, or there are too many
 */
export function resolveVariables(value: string, lookUp: (name: string) => string | undefined): string | null {
  let text = value;
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const start = text.search(/var\(/i);
    if (start === -1) return text;
    const end = closingBracket(text, start + 3);
    if (end === -1) return null;
    const inner = text.slice(start + 4, end);
    const comma = inner.indexOf(',');
    const name = (comma === -1 ? inner : inner.slice(0, comma)).trim();
    const found = lookUp(name) ?? (comma === -1 ? undefined : inner.slice(comma + 1));
    if (found === undefined) return null;
    text = `${text.slice(0, start)}${found.trim()}${text.slice(end + 1)}`;
    if (text.length > MAX_LENGTH) return null;
  }
  return null;
}

/**
 * @param open the position of an opening bracket
 * @returns the position of its closing bracket; -1 if there is none
 */
export function closingBracket(text: string, open: number): number {
  let depth = 0;
  for (let n = open; n < text.length; n += 1) {
    if (text[n] === '(') depth += 1;
    if (text[n] === ')' && (depth -= 1) === 0) return n;
  }
  return -1;
}
