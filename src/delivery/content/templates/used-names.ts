/** Finds the values that a content uses. */
import { parseLiquid, pathsOf, type ParsedLiquid } from './liquid.ts';
import { CONTACT_FIELDS } from './names.ts';
import { type LiquidToken, Placeholders } from './placeholders.ts';

/** Properties that Liquid adds to texts and lists. */
const ADDED = new Set<string | number>(['size', 'first', 'last']);

const isName = (segment: string | number): segment is string =>
  typeof segment === 'string' && /^[^.\s"'[\]]{1,100}$/.test(segment);

/** The part of a path that names a value: up to an index, and without a final `size`, `first` or `last`. */
function named(path: readonly (string | number)[]): string[] {
  const names: string[] = [];
  for (const segment of path) {
    if (!isName(segment)) break;
    names.push(segment);
  }
  const last = names.at(-1);
  const own = names[0] === 'contact' || names[0] === 'event' ? 3 : 1;
  return last !== undefined && ADDED.has(last) && names.length > own ? names.slice(0, -1) : names;
}

/** All names that a text uses, such as `contact.data.plan` or `coupon`. */
function namesIn(parsed: ParsedLiquid): Set<string> {
  const names = new Set<string>();
  for (const path of pathsOf(parsed)) {
    const name = named(path).join('.');
    if (name !== '') names.add(name);
  }
  return names;
}

/**
 * The Liquid that decides which names are used. The library searches for the line of every name from the beginning of
 * the text. Without the HTML, and without outputs repeated between two tags, this search is fast.
 */
function essential(tokens: Iterable<LiquidToken>): string {
  const pieces: string[] = [];
  let repeated = new Set<string>();
  for (const { source, isOutput } of tokens) {
    if (!isOutput) repeated = new Set();
    else if (repeated.has(source)) continue;
    repeated.add(source);
    pieces.push(source);
  }
  return pieces.join('');
}

/** The names that Liquid tokens use. @throws LiquidSyntaxError if its tags do not match */
export function namesInTokens(tokens: Iterable<LiquidToken>): Set<string> {
  return namesIn(parseLiquid(essential(tokens), 'text'));
}

/** The names that a text uses. @throws LiquidSyntaxError */
export function namesInText(text: string): Set<string> {
  if (!text.includes('{')) return new Set();
  const placeholders = new Placeholders([text]);
  return namesInTokens(placeholders.find(placeholders.hide(text)).map(({ token }) => token));
}

/** The contact's paths among names: `contact` alone means all of them. */
export function contactPaths(names: Iterable<string>): string[] {
  const paths = new Set<string>();
  for (const name of names) {
    if (name === 'contact') for (const field of CONTACT_FIELDS) paths.add(field);
    else if (name.startsWith('contact.')) paths.add(name.slice('contact.'.length));
  }
  return [...paths].toSorted();
}
