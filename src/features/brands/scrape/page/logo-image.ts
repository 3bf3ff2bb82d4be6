/** Checks an image that may be a logo. Draws SVG as PNG, which mail clients show. */
import { readFile } from 'node:fs/promises';
import { initWasm, Resvg } from '@resvg/resvg-wasm';
import { fileTypeFromBuffer } from 'file-type';
import { imageSize } from 'image-size';
import { cleanSvg } from './svg-text.ts';
import { withMemoryLimit } from './wasm-memory.ts';

export const MAX_LOGO_BYTES = 1024 * 1024;
/** Maximum length of the longer side, in pixels. */
const MAX_SIDE = 4_096;
const MIN_SIDE = 16;
/** Side of a drawn image, in pixels: enough for a logo of 300 pixels on a sharp screen. */
const DRAWN_SIDE = 600;

/** Memory limit of the drawing program, which never releases memory. */
const MAX_DRAWING_MB = 128;

/** Formats that mail clients show, and their file name extensions. */
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

async function loadDrawing(): Promise<void> {
  const program = await readFile(new URL(import.meta.resolve('@resvg/resvg-wasm/index_bg.wasm')));
  await initWasm(withMemoryLimit(program, MAX_DRAWING_MB));
}

/** Loads the drawing program. It runs in a WebAssembly sandbox and can load nothing itself. */
function prepareDrawing(): Promise<void> {
  ready ??= loadDrawing();
  return ready;
}

/** The drawing program stopped halfway, for example for lack of memory. This thread can no longer use it. */
export class DrawingBrokenError extends Error {}

/**
 * Draws an SVG returned by {@link cleanSvg}.
 * @param color the color of parts that use `currentColor`
 */
function draw(svg: string, color: string): LogoImage | null {
  const colored = svg.replace('<svg', `<svg color="${color}"`);
  const measured = new Resvg(colored);
  const { width, height } = measured;
  measured.free();
  if (!(width > 0) || !(height > 0)) return null;
  const fitTo = { mode: width >= height ? 'width' : 'height', value: DRAWN_SIDE } as const;
  const drawing = new Resvg(colored, { fitTo });
  const image = drawing.render();
  const isVisible = image.pixels.some((value, n) => n % 4 === 3 && value !== 0);
  const logo = isVisible ? { bytes: image.asPng(), extension: 'png' } : null;
  image.free();
  drawing.free();
  return logo;
}

/** @throws DrawingBrokenError */
async function drawOrNull(text: string, color: string): Promise<LogoImage | null> {
  const svg = cleanSvg(text);
  if (svg === null) return null;
  await prepareDrawing();
  try {
    return draw(svg, color);
  } catch (error) {
    // The program reports an unreadable SVG as an Error. All other errors come from WebAssembly itself.
    if (error instanceof Error && error.name !== 'Error') throw new DrawingBrokenError(error.message);
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
 * @throws DrawingBrokenError
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

/** Like {@link readLogo}, for an SVG in the page itself. */
export function readInlineLogo(svg: string, color: string): Promise<LogoImage | null> {
  return drawOrNull(svg, color);
}

const DATA = /^data:image\/[\w.+-]{1,40}(?:;charset=[\w-]{1,20})?(;base64)?,/i;

/** The bytes of a `data:` URL. */
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
