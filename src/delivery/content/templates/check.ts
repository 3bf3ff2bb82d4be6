/** Finds the problems of a content, for its author. Runs in a worker thread. */
import { hasHtml } from '../../terms/channels/content-shapes.ts';
import { type Compiled, compileContent } from './compile.ts';
import type { CompiledContent, ContentSource, Problem } from './content.ts';
import { bodyKindOf } from './document.ts';
import { type Attribute, scanHtml, type Tag } from '../mime/html-scan.ts';
import { foreignTags } from './foreign-tags.ts';
import { hasUnsubscribeLink } from './legal-parts.ts';
import { OTHER_LINK } from './link-schemes.ts';
import { isKnownPath, isServiceName } from './names.ts';
import { Placeholders } from './placeholders.ts';
import { preparedSource, sourceTexts, type SourceText } from './source-texts.ts';
import { MAX_SMS_SEGMENTS, smsSegments } from './sms-text.ts';
import { applyEdits } from './urls.ts';
import { namesInText } from './used-names.ts';

/** Gmail clips an email whose HTML is longer. */
const MAX_HTML_BYTES = 102 * 1024;
const MAX_SHOWN = 100;
/** Maximum number of problems of one kind that a check lists, to keep its response short. */
const MAX_OF_A_KIND = 50;

/** A host name that resolves only on the local machine or network. */
const LOCAL_HOST =
  /^(?:localhost|.*\.(?:localhost|local|internal|test|invalid)|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1\])$/;
const DOTTED = /\.|^\[/;

const shown = (text: string) => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);

/** @returns what can be known to be wrong with a URL before it is rendered; null if nothing is */
export function linkFault(url: string, kind: 'link' | 'image', hasLiquid: boolean): string | null {
  const text = url.trim();
  if (text === '') return 'is empty';
  if (hasLiquid) return null;
  if (text.startsWith('#')) return text === '#' ? 'leads nowhere' : null;
  if (OTHER_LINK.test(text)) {
    if (kind === 'image') return 'is not a web address';
    return text.length > text.indexOf(':') + 1 ? null : 'is empty';
  }
  if (!/^https?:\/\//i.test(text)) {
    return /^[a-z][a-z0-9+.-]*:/i.test(text)
      ? 'has a scheme that is not allowed in email'
      : 'is relative; email needs a whole address, such as https://example.com/page';
  }
  const parsed = URL.parse(text);
  if (!parsed || /\s/.test(text)) return 'is not a valid address';
  if (LOCAL_HOST.test(parsed.hostname)) return 'points to a host that recipients cannot reach';
  return DOTTED.test(parsed.hostname) ? null : 'has a host name without a domain';
}

/** Replaces what no recipient sees by spaces. */
function withoutUnseen(html: string): string {
  const { comments, styles, scripts } = scanHtml(html);
  const edits = [...comments, ...styles, ...scripts].map(({ start, end }) => {
    return { start, end, by: html.slice(start, end).replaceAll(/[^\n]/g, ' ') };
  });
  return applyEdits(html, edits);
}

/** Finds tags of other tools, each once in a field. */
function foreignProblems(texts: readonly SourceText[], placeholders: Placeholders): Problem[] {
  return texts.flatMap(({ field, text }) => {
    const hidden = placeholders.hide(text);
    const visible = hidden.includes('<') ? withoutUnseen(hidden) : hidden;
    const lineOf = lineFinder(visible);
    const reported = new Set<string>();
    return foreignTags(visible).flatMap(({ tag, tool, start }): Problem[] => {
      if (reported.has(tag)) return [];
      reported.add(tag);
      const line = field === 'body' ? `line ${lineOf(start)}: ` : '';
      const message = `${line}${shown(tag)} is a tag of ${tool}, which Carillon does not replace`;
      return [{ field, code: 'foreign_tag', message }];
    });
  });
}

const OF_KIND = { link: 'a link', image: 'an image' } as const;

/** `"http://…" `, or nothing: an address that is empty is not shown. */
const quoted = (address: string) => (address.trim() === '' ? '' : `"${shown(address)}" `);

interface Scanned {
  field: string;
  /** With placeholders instead of Liquid. */
  html: string;
}

/** Checks a text that contains HTML or MJML. */
function tagProblems({ field, html }: Scanned, placeholders: Placeholders): Problem[] {
  const problems: Problem[] = [];
  const scan = scanHtml(html);
  const lineOf = lineFinder(html);
  for (const url of scan.urls.toSorted((one, other) => one.start - other.start)) {
    if (url.name === 'srcset') continue;
    const words = placeholders.find(html.slice(url.start, url.end));
    const fault = linkFault(url.value, url.kind, words.length > 0);
    if (!fault) continue;
    const address = quoted(placeholders.show(url.value));
    problems.push({
      field,
      code: 'broken_link',
      message: `line ${lineOf(url.start)}: the address ${address}of ${OF_KIND[url.kind]} ${fault}`,
    });
  }
  for (const tag of scan.tags) {
    if (tag.name === 'script') {
      problems.push({
        field,
        code: 'script',
        message: `line ${lineOf(tag.start)}: mail programs do not run scripts`,
      });
    }
    if (isImageWithoutAlt(tag)) {
      problems.push({
        field,
        code: 'missing_alt',
        message: `line ${lineOf(tag.start)}: an image has no alt text`,
      });
    }
  }
  return problems;
}

const IMAGES = new Set(['img', 'mj-image']);
const named = (name: string) => (attribute: Attribute) => attribute.name === name;

/** An empty `alt` is correct for a decorative `<img>`, so only a missing one is reported. */
function isImageWithoutAlt({ name, attributes }: Tag): boolean {
  return IMAGES.has(name) && !attributes.some(named('alt'));
}

/** Returns a function that finds the line, counted from 1, of each of several ascending positions. */
function lineFinder(text: string): (position: number) => number {
  let line = 1;
  let at = 0;
  return (position) => {
    if (position < at) [line, at] = [1, 0];
    for (let next = text.indexOf('\n', at); next >= 0 && next < position; next = text.indexOf('\n', at)) {
      line += 1;
      at = next + 1;
    }
    return line;
  };
}

const URL_FIELD = /\.(?:href|src|logo_url|url)$/;
const HTML_FIELD = /\.html$/;

function designProblems(texts: readonly SourceText[], placeholders: Placeholders): Problem[] {
  const problems: Problem[] = [];
  for (const { field, text } of texts) {
    const html = placeholders.hide(text);
    if (HTML_FIELD.test(field)) problems.push(...tagProblems({ field, html }, placeholders));
    else if (URL_FIELD.test(field)) {
      const kind = /\.(?:src|logo_url)$/.test(field) ? 'image' : 'link';
      const isOptional = kind === 'image' && field.endsWith('logo_url');
      const fault = isOptional && text.trim() === '' ? null : linkFault(html, kind, html !== text);
      if (fault) problems.push({ field, code: 'broken_link', message: `${quoted(text)}${fault}` });
    }
  }
  return problems;
}

function designAlts(sections: readonly unknown[], field: string): Problem[] {
  return sections.flatMap((section, n): Problem[] => {
    const { type, props } = section as {
      type: string;
      props: { alt?: string; columns?: { sections: unknown[] }[] };
    };
    const place = `${field}.${n}`;
    if (type === 'columns') {
      return (props.columns ?? []).flatMap(({ sections: inner }, column) =>
        designAlts(inner, `${place}.props.columns.${column}.sections`),
      );
    }
    const isMissing = type === 'image' && (props.alt ?? '').trim() === '';
    return isMissing
      ? [{ field: `${place}.props.alt`, code: 'missing_alt', message: 'an image has no alt text' }]
      : [];
  });
}

function unknownNames(texts: readonly SourceText[], known: ReadonlySet<string>): Problem[] {
  const problems: Problem[] = [];
  const reported = new Set<string>();
  for (const { field, text } of texts) {
    for (const name of namesOrNone(text)) {
      const own = name.split('.', 1)[0] ?? '';
      const isKnown = isServiceName(name) ? isKnownPath(name) : known.has(own);
      if (isKnown || reported.has(name)) continue;
      reported.add(name);
      problems.push({
        field,
        code: 'unknown_variable',
        message: `${shown(name)} has no value, so nothing is shown in its place`,
      });
    }
  }
  return problems;
}

/** A tag that begins in one text of a design and ends in another cannot be parsed alone. */
function namesOrNone(text: string): Iterable<string> {
  try {
    return namesInText(text);
  } catch {
    return [];
  }
}

function lengthProblems({ html, segments, text }: CompiledContent, field: string): Problem[] {
  if (segments !== null && text !== null) {
    const needed = smsSegments(text);
    if (needed <= MAX_SMS_SEGMENTS) return [];
    return [
      {
        field: 'body',
        code: 'too_large',
        message: `an SMS may have at most ${MAX_SMS_SEGMENTS} segments, but this one has ${needed}`,
      },
    ];
  }
  const bytes = Buffer.byteLength(html ?? '');
  if (bytes <= MAX_HTML_BYTES) return [];
  const message = `the HTML has ${Math.ceil(bytes / 1024)} KB: Gmail shows only the first 102 KB`;
  return [{ field, code: 'too_large', message }];
}

/** The HTML of a compiled content, with placeholders instead of Liquid. */
function linksToUnsubscribe(html: string): boolean {
  const placeholders = new Placeholders([html]);
  return hasUnsubscribeLink(placeholders.hide(html), placeholders);
}

function footerProblems({ footer, brand, contentFrom }: ContentSource, { html }: CompiledContent): Problem[] {
  if (html === null) return [];
  if (footer === 'none') {
    if (linksToUnsubscribe(html)) return [];
    const message = 'no link leads to {{ unsubscribe_url }}';
    return [{ field: contentFrom, code: 'missing_unsubscribe_link', message }];
  }
  if ((brand.physical_address ?? '').trim() !== '') return [];
  const message = 'the brand has no physical address, which marketing emails must show';
  return [{ field: 'brand.physical_address', code: 'missing_physical_address', message }];
}

function bounded(problems: readonly Problem[]): Problem[] {
  const counts = new Map<string, number>();
  return problems.filter(({ code }) => {
    const count = (counts.get(code) ?? 0) + 1;
    counts.set(code, count);
    return count <= MAX_OF_A_KIND;
  });
}

/** @param known names of the template's variables that have a value */
export async function checkContent(source: ContentSource, known: readonly string[]): Promise<Problem[]> {
  const { content, problems, warnings }: Compiled = await compileContent(source);
  if (!content) return problems;
  const prepared = preparedSource(source);
  const texts = sourceTexts(prepared);
  const all = [...texts.single, ...texts.design];
  const found = [...warnings, ...unknownNames(all, new Set(known))];
  const placeholders = new Placeholders(all.map(({ text }) => text));
  if (prepared.body !== null && hasHtml(source.channel)) {
    const html = placeholders.hide(prepared.body);
    if (bodyKindOf(html) !== 'text') found.push(...tagProblems({ field: 'body', html }, placeholders));
  }
  found.push(
    ...foreignProblems(all, placeholders),
    ...designProblems(texts.design, placeholders),
    ...designAlts(prepared.design?.sections ?? [], 'design.sections'),
  );
  found.push(...footerProblems(source, content), ...lengthProblems(content, source.contentFrom));
  return bounded(found);
}
