/** Checks an image that may be a logo, and draws SVG as PNG, which mail programs show. */
import { readFile } from 'node:fs/promises';
import { initWasm, Resvg } from '@resvg/resvg-wasm';
import { fileTypeFromBuffer } from 'file-type';
import { imageSize } from 'image-size';
import { cleanSvg } from './svg-text.ts';

export const MAX_LOGO_BYTES = 1024 * 1024;
/** Pixels of the longer side. */
const MAX_SIDE = 4_096;
const MIN_SIDE = 16;
/** Of an image that is drawn: enough for a logo of 300 pixels on a sharp screen. */
const DRAWN_SIDE = 600;

/** Formats that mail programs show, and the file names that stand for them. */
const FORMATS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
};

export interface LogoImage {
  bytes: Uint8Array;
  /** Such as `png`. */
  extension: string;
}

let ready: Promise<void> | undefined;

/** Loads the program that draws. It runs in a sandbox of WebAssembly and can load nothing itself. */
function prepareDrawing(): Promise<void> {
  ready ??= readFile(new URL(import.meta.resolve('@resvg/resvg-wasm/index_bg.wasm'))).then(initWasm);
  return ready;
}

/** Draws an SVG from {@link cleanSvg}. @param color that of parts whose color is `currentColor` */
async function draw(svg: string, color: string): Promise<LogoImage | null> {
  await prepareDrawing();
  const colored = svg.replace('<svg', `<svg color="${color}"`);
  const measured = new Resvg(colored);
  const { width, height } = measured;
  measured.free();
  if (!(width > 0) || !(height > 0)) return null;
  const fitTo = { mode: width >= height ? 'width' : 'height', value: DRAWN_SIDE } as const;
  const image = new Resvg(colored, { fitTo }).render();
  const pixels = image.pixels;
  for (let n = 3; n < pixels.length; n += 4) {
    if (pixels[n] !== 0) return { bytes: image.asPng(), extension: 'png' };
  }
  return null;
}

async function drawOrNull(text: string, color: string): Promise<LogoImage | null> {
  const svg = cleanSvg(text);
  try {
    return svg === null ? null : await draw(svg, color);
  } catch {
    return null;
  }
}

const SVG_START = /^\ufeff?\s*<(?:\?xml|!--|!doctype svg|svg)/i;

function isSvg(start: string): boolean {
  return SVG_START.test(start) && /<svg[\s>]/i.test(start);
}

/**
 * Checks the bytes of an image.
 * @returns a PNG, JPEG, GIF or WebP of at most 1 MB and 4,096 pixels a side; null if the image cannot be one
 */
export async function readLogo(bytes: Uint8Array, color: string): Promise<LogoImage | null> {
  if (bytes.length === 0 || bytes.length > MAX_LOGO_BYTES) return null;
  const start = Buffer.from(bytes.subarray(0, 4_000)).toString('utf8');
  if (isSvg(start)) return drawOrNull(Buffer.from(bytes).toString('utf8'), color);
  const extension = FORMATS[(await fileTypeFromBuffer(bytes))?.mime ?? ''];
  if (extension === undefined) return null;
  const { width, height } = imageSize(bytes);
  const fits = [width, height].every((side) => side >= MIN_SIDE && side <= MAX_SIDE);
  return fits ? { bytes, extension } : null;
}

/** As {@link readLogo}, for an SVG of the page itself. */
export function readInlineLogo(svg: string, color: string): Promise<LogoImage | null> {
  return drawOrNull(svg, color);
}

const DATA = /^data:image\/[\w.+-]{1,40}(?:;charset=[\w-]{1,20})?(;base64)?,/i;

/** The bytes of a `data:` address. */
export function bytesOfData(address: string): Uint8Array {
  const [head, base64] = DATA.exec(address) ?? [];
  if (head === undefined) return new Uint8Array();
  const data = address.slice(head.length);
  if (base64) return Buffer.from(data, 'base64');
  try {
    return Buffer.from(decodeURIComponent(data));
  } catch {
    return new Uint8Array();
  }
}
