/** Compiles what an author wrote into the version that a send pins. Runs in a worker thread. */
import type { Channel } from '../../terms/channels/index.ts';
import { textFromHtml } from '../mime/text-from-html.ts';
import { CompileError } from './compile-error.ts';
import type { CompiledContent, ContentSource, Problem } from './content.ts';
import { designToMjml } from './design-mjml.ts';
import { bodyKindOf, completeDocument, paragraphs, withFooter, withPreheader } from './document.ts';
import type { Mode } from './filters.ts';
import { footerHtml, type FooterNeeds, footerText, linesOf, PLAIN_FOOTER } from './footer.ts';
import { fromMjml } from './from-mjml.ts';
import { hasUnsubscribeLink, showsAddress } from './legal-parts.ts';
import { LiquidSyntaxError, MAX_TEMPLATE, parseLiquid } from './liquid.ts';
import { MjmlError, mjmlToHtml } from './mjml.ts';
import { closeAttributes, showInPlace, showInText } from './places.ts';
import { Placeholders } from './placeholders.ts';
import { largestSegments } from './sms-text.ts';
import { liquidProblems, mapTexts, preparedSource, sourceTexts } from './source-texts.ts';
import { lookOf } from './theme.ts';
import { contactPaths, namesInText, namesInTokens } from './used-names.ts';
import { headerText } from './values.ts';

type Prepared = ReturnType<typeof preparedSource>;

/** The result of a compilation. */
export interface Compiled {
  content: CompiledContent | null;
  /** Each makes the content unusable. */
  problems: Problem[];
  /** Problems that MJML reports although it accepts the content. */
  warnings: Problem[];
}

const missing = (field: string): Problem => ({
  field,
  code: 'missing_content',
  message: 'there is no content',
});

interface Html {
  /** A complete document, with placeholders instead of Liquid. */
  html: string;
  /** The text alternative, with placeholders, too; null: it is generated from the HTML. */
  text: string | null;
  warnings: Problem[];
  field: string;
}

function isBareIn(placeholders: Placeholders, tagsOnly: boolean) {
  return (text: string) =>
    placeholders.find(text).every(({ token }) => !tagsOnly || !token.isOutput) &&
    placeholders.show(text, () => '').trim() === '';
}

const PAGE_URL = /^\{\{-?\s*(?:unsubscribe_url|preferences_url)\s*-?\}\}$/;

async function fromText(prepared: Prepared, body: string, placeholders: Placeholders): Promise<Html> {
  const isBare = isBareIn(placeholders, true);
  const isUrl = (word: string) => {
    const [found] = placeholders.find(word);
    return (
      found !== undefined &&
      found.start === 0 &&
      found.end === word.length &&
      PAGE_URL.test(found.token.source)
    );
  };
  const hidden = placeholders.hide(body);
  const html = paragraphs(hidden, isBare, isUrl);
  const look = lookOf({}, prepared.brand);
  const tree = designToMjml([{ type: 'text', props: { html } }], look, prepared.brand, isBare);
  return {
    html: (await mjmlToHtml(tree)).html,
    text: hidden.replaceAll('\r\n', '\n'),
    warnings: [],
    field: 'body',
  };
}

async function fromDesign(prepared: Prepared, placeholders: Placeholders): Promise<Html> {
  const hide = (text: string) => placeholders.hide(text);
  const sections = prepared.sections.map((section) => ({ ...section, props: mapTexts(section.props, hide) }));
  const look = lookOf(mapTexts(prepared.design?.theme ?? {}, hide), prepared.brand);
  const tree = designToMjml(
    sections as typeof prepared.sections,
    look,
    prepared.brand,
    isBareIn(placeholders, false),
  );
  return { html: (await mjmlToHtml(tree)).html, text: null, warnings: [], field: 'design' };
}

async function htmlOf(prepared: Prepared, placeholders: Placeholders): Promise<Html> {
  const { body, design } = prepared;
  if (design) return fromDesign(prepared, placeholders);
  if (body === null || body.trim() === '') {
    throw new CompileError(missing(prepared.contentFrom));
  }
  const hidden = placeholders.hide(body);
  switch (bodyKindOf(hidden)) {
    case 'mjml':
      return { ...(await fromMjml(body, placeholders)), text: null, field: 'body' };
    case 'text':
      return fromText(prepared, body, placeholders);
    case 'html':
      return { html: completeDocument(hidden), text: null, warnings: [], field: 'body' };
  }
}

function footerNeeds({ brand }: Prepared, html: string, placeholders: Placeholders): FooterNeeds {
  return {
    unsubscribeLink: !hasUnsubscribeLink(html, placeholders),
    address: linesOf(brand.physical_address).length > 0 && !showsAddress(html, brand, placeholders),
  };
}

function addFooter(prepared: Prepared, found: Html, placeholders: Placeholders): Html {
  const needs = footerNeeds(prepared, found.html, placeholders);
  const link = placeholders.add({ source: '{{ unsubscribe_url }}', isOutput: true });
  const look = prepared.design ? lookOf(prepared.design.theme, prepared.brand) : null;
  const style = look ? { text: look.text, background: look.background, font: look.fontBody } : PLAIN_FOOTER;
  const html = withFooter(found.html, footerHtml(prepared.brand, needs, link, style));
  if (!hasUnsubscribeLink(html, placeholders)) {
    const message =
      'the unsubscribe link would be hidden, because a comment, style, title or hidden element is not closed, or the body ends between tags of Liquid';
    throw new CompileError({ field: found.field, code: 'missing_unsubscribe_link', message });
  }
  const footer = footerText(prepared.brand, needs);
  const text =
    found.text === null || footer === '' ? found.text : `${found.text}\n\n-- \n${placeholders.hide(footer)}`;
  return { ...found, html, text };
}

/** Parses the compiled Liquid, which must still be valid. */
function parsed(field: string, text: string, mode: Mode): string {
  if (text.length > MAX_TEMPLATE)
    throw new CompileError({ field, code: 'too_long', message: 'the compiled content is longer than 4 MB' });
  try {
    parseLiquid(text, mode);
  } catch (error) {
    if (!(error instanceof LiquidSyntaxError)) throw error;
    const message = `tags of Liquid do not match where MJML puts them: ${error.message}`;
    throw new CompileError({ field, code: 'lost_liquid', message });
  }
  return text;
}

/** The names in texts that were parsed. Together they may have more Liquid than one text may. */
const namesOf = (texts: readonly (string | null)[], placeholders: Placeholders): Set<string> =>
  new Set(
    texts.flatMap((text) => [...namesInTokens(placeholders.find(text ?? '').map(({ token }) => token))]),
  );

async function compileEmail(prepared: Prepared): Promise<Compiled> {
  const texts = sourceTexts(prepared);
  const placeholders = new Placeholders([...texts.single, ...texts.design].map(({ text }) => text));
  let found = await htmlOf(prepared, placeholders);
  const preheader = placeholders.hide(prepared.preheader ?? '');
  found = { ...found, html: closeAttributes(withPreheader(found.html, preheader), placeholders) };
  if (prepared.footer === 'marketing') found = addFooter(prepared, found, placeholders);
  const { html, field, warnings } = found;
  // The text part needs the assignments and conditions of comments and of hidden elements, too.
  const text = found.text ?? textFromHtml(html, (removed) => placeholders.onlySilentTags(removed));
  const subject = prepared.subject === null ? null : placeholders.hide(prepared.subject);
  const shown = {
    subject:
      prepared.subject === null ? null : parsed('subject', headerText(prepared.subject).trim(), 'header'),
    preheader: prepared.preheader,
    html: parsed(field, showInPlace(html, placeholders), 'html'),
    text: parsed(field, showInText(text, placeholders), 'text'),
  };
  const names = namesOf([subject, html, text], placeholders);
  const content: CompiledContent = {
    ...shown,
    paths: contactPaths(names),
    variables: [...names].toSorted(),
    segments: null,
  };
  return { content, problems: [], warnings };
}

function compileSms({ body, brand, footer }: Prepared): Compiled {
  if (body === null || body.trim() === '') throw new CompileError(missing('body'));
  const own = body.replaceAll('\r\n', '\n').trim();
  const stop = footer === 'marketing' ? (brand.sms_stop_text ?? '').trim() : '';
  const text = stop === '' ? own : `${own}\n${stop}`;
  const names = namesInText(text);
  const segments = largestSegments(text);
  return {
    content: {
      subject: null,
      preheader: null,
      html: null,
      text,
      paths: contactPaths(names),
      variables: [...names].toSorted(),
      segments,
    },
    problems: [],
    warnings: [],
  };
}

const compilers: Readonly<Record<Channel, (prepared: Prepared) => Compiled | Promise<Compiled>>> = {
  email: compileEmail,
  sms: compileSms,
};

/** Compiles a content. */
export async function compileContent(source: ContentSource): Promise<Compiled> {
  const prepared = preparedSource(source);
  const refused = (problems: Problem[]): Compiled => ({ content: null, problems, warnings: [] });
  const problems = liquidProblems(sourceTexts(prepared));
  if (problems.length > 0) return refused(problems);
  try {
    return await compilers[prepared.channel](prepared);
  } catch (error) {
    if (error instanceof CompileError) return refused([...error.problems]);
    if (error instanceof MjmlError) {
      return refused([{ field: source.contentFrom, code: 'mjml_error', message: error.message }]);
    }
    throw error;
  }
}
