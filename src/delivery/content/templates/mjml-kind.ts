/** Decides whether a body is MJML, and which elements MJML has. */
import presetCore from 'mjml-preset-core';
import { scanHtml } from '../mime/html-scan.ts';
import { type MjmlPart, mjmlParts } from './mjml-parts.ts';
import { VISIBLE } from './mjml-text.ts';

/** Elements whose content is HTML. */
export const ENDING: ReadonlySet<string> = new Set(
  presetCore.components.filter((each) => each.endingTag).map((each) => each.componentName),
);
export const KNOWN: ReadonlySet<string> = new Set([
  ...presetCore.components.map((each) => each.componentName),
  ...['mjml', 'mj-all', 'mj-class', 'mj-selector', 'mj-html-attribute'],
]);
/** Elements of `<mj-head>`. Elsewhere, MJML fails. */
export const HEAD: ReadonlySet<string> = new Set([
  'mj-attributes',
  'mj-breakpoint',
  'mj-font',
  'mj-html-attributes',
  'mj-preview',
  'mj-style',
  'mj-title',
]);
export const INCLUDE = 'mj-include';

/** A problem and its position in the text. */
export interface MjmlFault {
  at: number;
  message: string;
}

const DOCTYPE = /<!doctype\b/i;
const WITH_SUBSET = /<!doctype\b[^>[]*\[([^\]]*)\]\s*>/iy;
const ENTITY = /<!ENTITY\s+(?:%\s+)?([^\s%]+)/g;
/** Whether HTML defines an entity. */
const isDecodable = (name: string) => scanHtml(`<a href="&${name};">`).urls[0]?.value !== `&${name};`;

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
  ['comment', 'declaration', 'instruction'].includes(kind) || (kind === 'text' && !VISIBLE.test(text));

/** Replaces the internal subset of a DOCTYPE by spaces: the scanner would take its end for a text. */
export function withoutSubset(text: string): { text: string; fault: MjmlFault | null } {
  WITH_SUBSET.lastIndex = Math.max(0, text.search(DOCTYPE));
  const found = WITH_SUBSET.exec(text);
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
