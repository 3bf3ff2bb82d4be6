/** Formats links, and the images in them, in a text that is generated from HTML. */
import type { DomNode, FormatCallback } from 'html-to-text';

/** A link that runs code or contains its target is of no use in a text. */
const NO_TARGET = /^(?:#|javascript:|vbscript:|data:)/i;

const attribute = ({ attribs }: DomNode, name: string): string =>
  ((attribs ?? {}) as Record<string, string>)[name] ?? '';

/** The target of a link, which may be put in angle brackets; empty: it has none. */
function targetOf(element: DomNode): string {
  // A browser ignores these characters, too.
  const url = attribute(element, 'href')
    .replaceAll(/[\t\r\n]/g, '')
    .trim();
  if (NO_TARGET.test(url)) return '';
  const mailto = /^mailto:/i.exec(url);
  const target = mailto ? (url.slice(mailto[0].length).split('?', 1)[0] ?? '') : url;
  return target.replaceAll(/[\s<>]/g, (character) => encodeURIComponent(character));
}

/** What a label leaves out of a link, or writes differently. */
const SCHEME = /^(?:tel|sms):/i;
const SEPARATORS = /(?:%20|[\s()./-])+/g;

function isSame(label: string, target: string): boolean {
  if (label === target) return true;
  return (
    SCHEME.test(target) &&
    label.replaceAll(SEPARATORS, '') === target.replace(SCHEME, '').replaceAll(SEPARATORS, '')
  );
}

function isInLink(element: DomNode): boolean {
  for (let at: DomNode | undefined = element.parent; at; at = at.parent) {
    if (at.name === 'a' && targetOf(at) !== '') return true;
  }
  return false;
}

const link: FormatCallback = (element, walk, builder) => {
  let label = '';
  builder.pushWordTransform((word) => {
    label += word;
    return word;
  });
  walk(element.children, builder);
  builder.popWordTransform();
  const target = targetOf(element);
  if (target === '' || isSame(label, target)) return;
  const shown = label.trim() === '' ? ` ${target} ` : ` <${target}>`;
  builder.addInline(shown, { noWordTransform: true });
};

/** The alt text of an image that is a link, because the text has no other label for it. Other images are left out. */
const linkedImage: FormatCallback = (element, _walk, builder) => {
  const alt = attribute(element, 'alt');
  if (alt.trim() !== '' && isInLink(element)) builder.addInline(alt, {});
};

/** An area of an image map. */
const area: FormatCallback = (element, _walk, builder) => {
  const target = targetOf(element);
  if (target === '') return;
  const alt = attribute(element, 'alt').trim();
  builder.addInline(alt === '' ? ` ${target} ` : ` ${alt} <${target}> `, { noWordTransform: true });
};

export const linkFormatters: Record<string, FormatCallback> = { link, linkedImage, area };
