/** Reads CSS colors, and chooses those of the brand, the text and the background. */
import { converter, formatHex, parse, type Rgb, wcagContrast } from 'culori';
import { closingBracket } from './cascade.ts';

const toRgb = converter('rgb');
const toOklch = converter('oklch');

/** A color that is more transparent is hardly visible and does not count. */
const MIN_ALPHA = 0.5;
const MAX_VALUE = 500;

/** `#` and six hexadecimal digits. */
export type HexColor = string;

function inGamut({ r, g, b, alpha }: Rgb): HexColor | null {
  if ((alpha ?? 1) < MIN_ALPHA) return null;
  const clamp = (part: number) => Math.min(1, Math.max(0, part));
  return formatHex({ mode: 'rgb', r: clamp(r), g: clamp(g), b: clamp(b) });
}

const CHANNELS = /^-?\d{1,3}(?:\.\d{1,6})?%?(?:[\s,]+-?\d{1,3}(?:\.\d{1,6})?%?){2}$/;

/** Custom properties often contain only a color's components: `13, 110, 253` for rgb, `222 47% 11%` for hsl. */
function ofChannels(text: string): string {
  if (!CHANNELS.test(text)) return text;
  return text.includes('%') ? `hsl(${text})` : `rgb(${text})`;
}

/** @returns null for a value that is not a color, or is nearly transparent */
export function readColor(value: string): HexColor | null {
  const text = value.trim().toLowerCase();
  if (text === '' || text.length > 100) return null;
  const found = parse(ofChannels(text));
  const rgb = found && toRgb(found);
  return rgb && [rgb.r, rgb.g, rgb.b].every(Number.isFinite) ? inGamut(rgb) : null;
}

/** Splits a value at spaces, commas and slashes outside brackets. */
function partsOf(value: string): string[] {
  const parts: string[] = [];
  let part = '';
  for (let n = 0; n < value.length; n += 1) {
    const character = value[n] ?? '';
    if (character === '(') {
      const end = closingBracket(value, n);
      part += value.slice(n, end === -1 ? value.length : end + 1);
      n = end === -1 ? value.length : end;
    } else if (/[\s,/]/.test(character)) {
      if (part !== '') parts.push(part);
      part = '';
    } else part += character;
  }
  return part === '' ? parts : [...parts, part];
}

const WRAPPER = /^(?:light-dark|(?:repeating-)?(?:linear|radial|conic)-gradient|color-mix)\(/i;

/** The first color in a value such as that of `background`. A gradient counts as its first color. */
export function firstColor(value: string): HexColor | null {
  for (const part of partsOf(value.slice(0, MAX_VALUE))) {
    const color = readColor(part);
    if (color) return color;
    const wrapper = WRAPPER.exec(part)?.[0];
    if (wrapper === undefined) continue;
    for (const inner of partsOf(part.slice(wrapper.length, -1))) {
      const found = readColor(inner);
      if (found) return found;
    }
  }
  return null;
}

/** Contrast of two colors (WCAG 2), from 1 to 21. */
export function contrast(one: HexColor, other: HexColor): number {
  return wcagContrast(one, other);
}

/** Grays have a lower chroma. */
const MIN_CHROMA = 0.04;

/** Whether people would remember the color: it is neither gray nor nearly white or black. */
export function isVivid(color: HexColor): boolean {
  const lch = toOklch(color);
  return lch !== undefined && lch.c >= MIN_CHROMA && lch.l > 0.15 && lch.l < 0.97;
}

/** A color that a page uses for something. */
export interface Evidence {
  color: HexColor | null;
  weight: number;
}

/** What a page says about its colors. Lists are in order of preference. */
export interface ColorEvidence {
  brand: readonly Evidence[];
  text: readonly (HexColor | null)[];
  background: readonly (HexColor | null)[];
}

export interface RoleColors {
  brand_color: HexColor | null;
  text_color: HexColor | null;
  bg_color: HexColor | null;
}

const WHITE = '#ffffff';
/** WCAG 2, level AA, for text of ordinary size. */
const READABLE = 4.5;
/** A brand's color must stand out from the background, at least as a surface. */
const VISIBLE = 1.25;

function heaviest(evidence: readonly Evidence[], fits: (color: HexColor) => boolean): HexColor | null {
  const weights = new Map<HexColor, number>();
  for (const { color, weight } of evidence) {
    if (color && fits(color)) weights.set(color, (weights.get(color) ?? 0) + weight);
  }
  let best: HexColor | null = null;
  for (const [color, weight] of weights) if (weight > (weights.get(best ?? '') ?? 0)) best = color;
  return best;
}

/**
 * Chooses one color for each role. If the page names other colors but no background, the background is white, which is
 * what browsers show. The text must be readable on the background, and the brand's color visible. Vivid colors come
 * first.
 */
export function chooseColors({ brand, text, background }: ColorEvidence): RoleColors {
  const ground = background.find((color) => color !== null) ?? null;
  const shown = ground ?? WHITE;
  const stands = (color: HexColor) => contrast(color, shown) >= VISIBLE;
  const brandColor = heaviest(brand, (color) => isVivid(color) && stands(color)) ?? heaviest(brand, stands);
  const textColor = text.find((color) => color !== null && contrast(color, shown) >= READABLE) ?? null;
  const saysSomething = brandColor !== null || textColor !== null;
  return {
    brand_color: brandColor,
    text_color: textColor,
    bg_color: ground ?? (saysSomething ? WHITE : null),
  };
}
