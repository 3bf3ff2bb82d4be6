/** Finds the colors and fonts that a page uses, judging by the purpose of its elements. */
import type { Element } from 'domhandler';
import { resolveVariables, type Style, stylesOf } from './cascade.ts';
import {
  chooseColors,
  type Evidence,
  firstColor,
  type HexColor,
  readColor,
  type RoleColors,
} from './colors.ts';
import { type Page, textOf } from './document.ts';
import { readFontFamily } from './fonts.ts';
import type { Stylesheets } from './stylesheets.ts';

const MAX_BUTTONS = 10;
const MAX_LINKS = 8;
const MAX_TEXTS = 4;
const MIN_PARAGRAPH = 40;

/** The elements that show what the page looks like. */
interface Samples {
  root: Element | undefined;
  body: Element | undefined;
  header: Element | undefined;
  headings: Element[];
  paragraphs: Element[];
  links: Element[];
  buttons: Element[];
}

const BUTTON = /(?:^|[\s_-])(?:btn|button|cta)(?:$|[\s_-])/i;

function isButton(element: Element): boolean {
  const { name, attribs } = element;
  if (name === 'button' || attribs.role === 'button') return true;
  if (name === 'input') return attribs.type === 'submit' || attribs.type === 'button';
  return (name === 'a' || name === 'span') && BUTTON.test(attribs.class ?? '');
}

function take(elements: readonly Element[], limit: number, fits: (element: Element) => boolean): Element[] {
  const taken: Element[] = [];
  for (const element of elements) {
    if (taken.length === limit) break;
    if (fits(element)) taken.push(element);
  }
  return taken;
}

function samplesOf({ elements, asides, consents }: Page): Samples {
  const first = (name: string) => elements.find((element) => element.name === name);
  const isOwn = (element: Element) => !consents.has(element);
  return {
    root: first('html'),
    body: first('body'),
    header: first('header'),
    headings: take(elements, MAX_TEXTS, (each) => /^h[1-3]$/.test(each.name) && isOwn(each)),
    paragraphs: take(
      elements,
      MAX_TEXTS,
      (each) => each.name === 'p' && textOf(each, 200).trim().length >= MIN_PARAGRAPH && isOwn(each),
    ),
    links: take(
      elements,
      MAX_LINKS,
      (each) =>
        each.name === 'a' && 'href' in each.attribs && !isButton(each) && !asides.has(each) && isOwn(each),
    ),
    buttons: take(elements, MAX_BUTTONS, (each) => isButton(each) && isOwn(each)),
  };
}

/** Reads declared values with variables replaced: those of the element, else of the body or the root. */
function createReader({ root, body }: Samples, styles: ReadonlyMap<Element, Style>) {
  const styleOf = (element: Element | undefined) => (element ? styles.get(element) : undefined);
  return function read(element: Element | undefined, property: string): string | null {
    const declared = styleOf(element)?.get(property);
    if (declared === undefined) return null;
    const chain = [element, body, root];
    return resolveVariables(declared, (name) => {
      for (const each of chain) {
        const value = styleOf(each)?.get(name);
        if (value !== undefined) return value;
      }
      return undefined;
    });
  };
}

type Reader = ReturnType<typeof createReader>;

function backgroundOf(read: Reader, element: Element | undefined): HexColor | null {
  const value = read(element, 'background-color') ?? read(element, 'background');
  return value === null ? null : firstColor(value);
}

function colorOf(read: Reader, element: Element | undefined): HexColor | null {
  const value = read(element, 'color');
  return value === null ? null : firstColor(value);
}

/**
 * Names of custom properties that usually have the brand's color, each with its weight. WordPress defines the `preset`
 * ones for all sites.
 */
const BRAND_NAMES: readonly [pattern: RegExp, weight: number][] = [
  [/preset/i, 0],
  [
    /(?:text|font|bg|background|border|hover|shadow|contrast|inverse|foreground|on)-?(?:$|color|primary|brand)/i,
    0,
  ],
  [/^--(?:[a-z0-9]{1,12}-){0,2}brand(?:-color|-colour|-primary|-main|-500|-600)?$/i, 10],
  [/^--(?:[a-z0-9]{1,12}-){0,2}primary(?:-color|-colour|-main|-500|-600)?$/i, 8],
  [/^--(?:[a-z0-9]{1,12}-){0,2}(?:accent|theme|main)(?:-color|-colour|-500)?$/i, 4],
];

function nameWeight(name: string): number {
  return BRAND_NAMES.find(([pattern]) => pattern.test(name))?.[1] ?? 0;
}

const MAX_VARIABLES = 2_000;

function variableEvidence(read: Reader, samples: Samples, styles: ReadonlyMap<Element, Style>): Evidence[] {
  const found: Evidence[] = [];
  for (const element of [samples.root, samples.body]) {
    if (!element) continue;
    for (const name of [...(styles.get(element)?.keys() ?? [])].slice(0, MAX_VARIABLES)) {
      if (!name.startsWith('--') || name.length > 60) continue;
      const weight = nameWeight(name);
      if (weight > 0) found.push({ color: readColor(read(element, name) ?? ''), weight });
    }
  }
  return found;
}

/** How much the places of a color say about the brand. */
const WEIGHTS = { themeColor: 8, tile: 4, mask: 6, button: 6, link: 3, header: 3 } as const;

/** Colors from the head, such as `<meta name="theme-color">`. Those for dark mode do not count. */
function evidenceOfHead({ name, attribs }: Element): Evidence | null {
  const { content = '', media = '', rel = '', color = '' } = attribs;
  if (name === 'link') {
    return rel.toLowerCase() === 'mask-icon' ? { color: readColor(color), weight: WEIGHTS.mask } : null;
  }
  if (name !== 'meta') return null;
  switch (attribs.name?.toLowerCase()) {
    case 'theme-color':
      return /dark/i.test(media.slice(0, 100))
        ? null
        : { color: readColor(content), weight: WEIGHTS.themeColor };
    case 'msapplication-tilecolor':
      return { color: readColor(content), weight: WEIGHTS.tile };
    default:
      return null;
  }
}

const MAX_HEAD_COLORS = 10;

function headEvidence({ elements }: Page): Evidence[] {
  return elements
    .map(evidenceOfHead)
    .filter((each) => each !== null)
    .slice(0, MAX_HEAD_COLORS);
}

/** Removes duplicates: ten black buttons on a page mean no more than one. */
function distinct(colors: readonly (HexColor | null)[], weight: number): Evidence[] {
  return [...new Set(colors)].map((color) => ({ color, weight }));
}

function colorsOf(
  page: Page,
  samples: Samples,
  styles: ReadonlyMap<Element, Style>,
  read: Reader,
): RoleColors {
  const { root, body, header, headings, paragraphs, links, buttons } = samples;
  const color = (element: Element | undefined) => colorOf(read, element);
  const background = (element: Element | undefined) => backgroundOf(read, element);
  const buttonColors = buttons.map(background);
  const [firstButton = null] = buttonColors.filter((each) => each !== null);
  return chooseColors({
    brand: [
      ...variableEvidence(read, samples, styles),
      ...headEvidence(page),
      ...distinct(buttonColors, WEIGHTS.button),
      // If there are several buttons, the first one is the most important.
      { color: firstButton, weight: 1 },
      ...distinct(links.map(color), WEIGHTS.link),
      { color: background(header), weight: WEIGHTS.header },
    ],
    text: [
      color(body),
      readColor(body?.attribs.text ?? ''),
      color(root),
      ...paragraphs.map(color),
      ...headings.map(color),
    ],
    background: [background(body), readColor(body?.attribs.bgcolor ?? ''), background(root)],
  });
}

export interface Look extends RoleColors {
  font_heading: string | null;
  font_body: string | null;
}

const GOOGLE_FONTS = /[?&]family=([^&:@]{1,100})/g;
const MAX_FONTS = 5;

/** Font families that the page loads from Google. */
function loadedFonts({ elements }: Page): string[] {
  const found: string[] = [];
  for (const { name, attribs } of elements) {
    const { href = '' } = attribs;
    if (name !== 'link' || !/^(?:https?:)?\/\/fonts\.(?:googleapis|bunny)\./i.test(href)) continue;
    for (const [, family = ''] of href.slice(0, 2_000).matchAll(GOOGLE_FONTS)) {
      found.push(family.replaceAll('+', ' '));
    }
  }
  return found.slice(0, MAX_FONTS);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function fontsOf(page: Page, samples: Samples, read: Reader): Pick<Look, 'font_heading' | 'font_body'> {
  const { root, body, headings, paragraphs } = samples;
  const fontOf = (elements: readonly (Element | undefined)[]) => {
    for (const element of elements) {
      const family = readFontFamily(read(element, 'font-family'), read(element, 'font'));
      if (family) return family;
    }
    return null;
  };
  const [loaded = null, second = null] = loadedFonts(page).map((name) => readFontFamily(decoded(name), null));
  const bodyFont = fontOf([...paragraphs, body, root]) ?? loaded;
  const headingFont = fontOf([...headings, body, root]);
  return { font_body: bodyFont, font_heading: headingFont ?? second ?? bodyFont };
}

/** @param sheets the page's stylesheets, in their order */
export function findLook(page: Page, sheets: Stylesheets): Look {
  const samples = samplesOf(page);
  const { root, body, header, headings, paragraphs, links, buttons } = samples;
  const elements = [root, body, header, ...headings, ...paragraphs, ...links, ...buttons].filter(
    (element) => element !== undefined,
  );
  const styles = stylesOf(elements, sheets);
  const read = createReader(samples, styles);
  return { ...colorsOf(page, samples, styles, read), ...fontsOf(page, samples, read) };
}
