/**
 * Divides a text into SMS segments (3GPP TS 23.038 §6.2.1, TS 23.040 §9.2.3.24.1). The encoding is GSM 7-bit if
 * every character is in the default alphabet or its extension table, else UCS-2. If there are several segments, each
 * gives up space for the header that joins them.
 */
const basicCharacters =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?' +
  '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà';
const extendedCharacters = '\f^{}\\[~]|€';

const septets = new Map<string, number>([
  ...Array.from(basicCharacters, (character) => [character, 1] as const),
  ...Array.from(extendedCharacters, (character) => [character, 2] as const),
]);

const gsm7Limits = { single: 160, joined: 153 };
const ucs2Limits = { single: 70, joined: 67 };

/** Maximum number of segments of one SMS. */
export const MAX_SEGMENTS = 10;

export interface SegmentCount {
  encoding: 'gsm7' | 'ucs2';
  /** Length in septets for `gsm7`, in 16-bit units for `ucs2`. */
  units: number;
  segments: number;
}

/** Counts the segments of a text. An empty text takes one. */
export function countSegments(text: string): SegmentCount {
  const widths = gsm7Widths(text);
  if (widths) return { encoding: 'gsm7', ...pack(widths, gsm7Limits) };
  return {
    encoding: 'ucs2',
    ...pack(
      Array.from(text, (character) => character.length),
      ucs2Limits,
    ),
  };
}

/** Returns the characters that are not in the GSM alphabet, each once, in order. */
export const wideCharacters = (text: string): string[] => [
  ...new Set(Array.from(text).filter((character) => !septets.has(character))),
];

/** @returns the septets of each character, or null if one is not in the GSM alphabet */
function gsm7Widths(text: string): number[] | null {
  const widths: number[] = [];
  for (const character of text) {
    const width = septets.get(character);
    if (width === undefined) return null;
    widths.push(width);
  }
  return widths;
}

/** Fills segments in order. An escape sequence or surrogate pair that does not fit moves to the next segment whole. */
function pack(
  widths: number[],
  limits: { single: number; joined: number },
): { units: number; segments: number } {
  const units = widths.reduce((sum, width) => sum + width, 0);
  if (units <= limits.single) return { units, segments: 1 };
  let segments = 1;
  let used = 0;
  for (const width of widths) {
    if (used + width > limits.joined) {
      segments += 1;
      used = 0;
    }
    used += width;
  }
  return { units, segments };
}
