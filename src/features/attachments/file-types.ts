/** Finds the media type of a file from its content and, if that does not decide, from its name. */
import { sniffContentType } from '../../platform/storage/file.ts';
import type { ByteSource } from './byte-source.ts';

const HEAD_BYTES = 64 * 1024;
const BINARY = 'application/octet-stream';

/** Types of text, and of containers for documents: by content they look alike. */
const byExtension: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'text/plain': {
    csv: 'text/csv',
    htm: 'text/html',
    html: 'text/html',
    ics: 'text/calendar',
    json: 'application/json',
    md: 'text/markdown',
    svg: 'image/svg+xml',
    tsv: 'text/tab-separated-values',
    vcf: 'text/vcard',
    xml: 'application/xml',
    yaml: 'application/yaml',
    yml: 'application/yaml',
  },
  'application/xml': { htm: 'text/html', html: 'text/html', svg: 'image/svg+xml' },
  'application/zip': {
    docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    epub: 'application/epub+zip',
    odp: 'application/vnd.oasis.opendocument.presentation',
    ods: 'application/vnd.oasis.opendocument.spreadsheet',
    odt: 'application/vnd.oasis.opendocument.text',
    pkpass: 'application/vnd.apple.pkpass',
    pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
    xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  },
  'application/x-cfb': {
    doc: 'application/msword',
    msg: 'application/vnd.ms-outlook',
    ppt: 'application/vnd.ms-powerpoint',
    xls: 'application/vnd.ms-excel',
  },
};

/** The extension of a name in lower case, without its dot; empty if it has none. */
export function extensionOf(filename: string): string {
  const dot = filename.lastIndexOf('.');
  return dot < 0 ? '' : filename.slice(dot + 1).toLowerCase();
}

/** Removes a character of UTF-8 that is cut at the end. */
function withoutCutCharacter(head: Buffer): Buffer {
  const lead = head.subarray(-4).findLastIndex((byte) => (byte & 0xc0) !== 0x80);
  if (lead < 0) return head;
  const at = Math.max(0, head.length - 4) + lead;
  const first = head[at] ?? 0;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return head.subarray(0, at + length > head.length ? at : head.length);
}

const isZip = (head: Buffer) => head.subarray(0, 4).equals(Buffer.from('PK\x03\x04'));

/** What the first bytes of a file show. */
export async function sniffFile(source: ByteSource): Promise<string> {
  const head = await source.read(0, Math.min(source.size, HEAD_BYTES));
  const sniffed = await sniffContentType(head.length < source.size ? withoutCutCharacter(head) : head);
  // Only a part of an archive was read, which may not be enough to see which kind it is.
  return sniffed === BINARY && isZip(head) ? 'application/zip' : sniffed;
}

/**
 * The media type of a file.
 * @param sniffed from {@link sniffFile}
 */
export function typeOf(filename: string, sniffed: string): string {
  const found = byExtension[sniffed]?.[extensionOf(filename)] ?? sniffed;
  if (found === 'application/x-cfb') return BINARY;
  return found.startsWith('text/') ? `${found}; charset=utf-8` : found;
}
