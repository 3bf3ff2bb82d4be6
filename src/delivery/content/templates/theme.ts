/** The look of a design: its theme, else the brand's default theme, else the brand's colors and fonts. */
import type { BrandParts } from './content.ts';
import { COLOR, type DesignTheme, FONT } from './design.ts';

export interface Look {
  brandColor: string;
  /** The color of texts on the brand's color. */
  onBrandColor: string;
  background: string;
  text: string;
  fontBody: string;
  fontHeading: string;
  logo: string | null;
}

const FALLBACK_FONTS = 'Helvetica, Arial, sans-serif';

function valid(value: unknown, pattern: RegExp): string | null {
  return typeof value === 'string' && pattern.test(value) ? value : null;
}

function fontList(font: string | null): string {
  const names = font?.replaceAll(/['"]/g, '').trim();
  return names ? `${names}, ${FALLBACK_FONTS}` : FALLBACK_FONTS;
}

/** Black or white, whichever has more contrast (WCAG 2.2, relative luminance). */
function readableOn(color: string): string {
  const short = /^#(.)(.)(.)$/.exec(color);
  const hex = short
    ? `#${short
        .slice(1)
        .map((digit) => digit + digit)
        .join('')}`
    : color;
  if (!/^#[0-9a-fA-F]{6}$/.test(hex)) return '#ffffff';
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? '#000000' : '#ffffff';
}

export function lookOf(theme: DesignTheme, brand: BrandParts): Look {
  const defaults = brand.default_theme;
  const color = (name: 'brand_color' | 'bg_color' | 'text_color', otherwise: string) =>
    theme[name] ?? valid(defaults[name], COLOR) ?? valid(brand[name], COLOR) ?? otherwise;
  const font = (name: 'font_body' | 'font_heading') =>
    fontList(theme[name] ?? valid(defaults[name], FONT) ?? valid(brand[name], FONT));
  const brandColor = color('brand_color', '#1f4fbf');
  const logo =
    theme.logo_url || (typeof defaults['logo_url'] === 'string' && defaults['logo_url']) || brand.logo;
  return {
    brandColor,
    onBrandColor: readableOn(brandColor),
    background: color('bg_color', '#ffffff'),
    text: color('text_color', '#1a1a1a'),
    fontBody: font('font_body'),
    fontHeading: font('font_heading'),
    logo: logo || null,
  };
}
