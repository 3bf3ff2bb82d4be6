/** Decodes texts of mails. What a mail says about its character set is often missing or wrong. */
import { isUtf8 } from 'node:buffer';
import { createTextSample, readEncodingMark } from '../../../platform/csv/encoding.ts';
import { decodeOldCharset } from './old-charsets.ts';

/**
 * Labels that mail uses, but that are not in the WHATWG Encoding Standard, without separators and the prefix `x-`
 * (IANA's registry of character sets, and Microsoft's list of code page identifiers).
 */
const ALIASES = new Map([
  ['utf8mb4', 'utf-8'],
  ['cp65001', 'utf-8'],
  ['iso88591windows30latin1', 'windows-1252'],
  ['iso88591windows31latin1', 'windows-1252'],
  ['cp28591', 'windows-1252'],
  ['ansi', 'windows-1252'],
  ['cp28605', 'iso-8859-15'],
  ['latin15', 'iso-8859-15'],
  ['latin9', 'iso-8859-15'],
  ['latin0', 'iso-8859-15'],
  ['latin10', 'iso-8859-16'],
  ['iso88598i', 'iso-8859-8-i'],
  ['iso88598e', 'iso-8859-8'],
  ['cp20866', 'koi8-r'],
  ['cp21866', 'koi8-u'],
  ['cp10000', 'macintosh'],
  ['macroman', 'macintosh'],
  ['maccyrillic', 'x-mac-cyrillic'],
  ['cp874', 'windows-874'],
  ['cp932', 'shift_jis'],
  ['shiftjis', 'shift_jis'],
  ['mskanji', 'shift_jis'],
  ['eucjp', 'euc-jp'],
  ['cp51932', 'euc-jp'],
  ['cp20932', 'euc-jp'],
  ['iso2022jp', 'iso-2022-jp'],
  ['iso2022jp1', 'iso-2022-jp'],
  ['iso2022jp2', 'iso-2022-jp'],
  ['iso2022jp3', 'iso-2022-jp'],
  ['iso2022jpms', 'iso-2022-jp'],
  ['cp50220', 'iso-2022-jp'],
  ['cp50221', 'iso-2022-jp'],
  ['cp50222', 'iso-2022-jp'],
  ['junet', 'iso-2022-jp'],
  ['cp936', 'gbk'],
  ['euccn', 'gbk'],
  ['gb231280', 'gbk'],
  ['cp54936', 'gb18030'],
  ['cp949', 'euc-kr'],
  ['cp51949', 'euc-kr'],
  ['euckr', 'euc-kr'],
  ['uhc', 'euc-kr'],
  ['ksc5601', 'euc-kr'],
  ['cp950', 'big5'],
  ['big5eten', 'big5'],
  ['euctw', 'big5'],
  ['tis620', 'windows-874'],
]);

/** ASCII alone needs no decoder, so what has other bytes is something else. */
const ASCII =
  /^(?:us-?ascii|ascii|ansi_?x3\.4.*|iso-?646.*|7-?bit|8-?bit|default|unknown.*|x-unknown|x-user-defined|binary)$/;
/** Where browsers look for it, too (WHATWG HTML, "prescan a byte stream"). */
const META = /<meta[^>]{0,500}?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i;
const META_BYTES = 4_096;

/** Known encodings by label; null: not known. Strangers choose the labels, so not all are kept. */
const encodings = new Map<string, string | null>();
const MAX_LABELS = 500;

function supported(label: string): string | null {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return null;
  }
}

function findEncoding(label: string): string | null {
  if (ASCII.test(label)) return null;
  const bare = label.replace(/^(?:x-|cs)/, '').replace(/[^a-z0-9]/g, '');
  const number = /^(?:cp|windows|ms|ibm|codepage|win)(\d+)$/.exec(bare)?.[1];
  return (
    supported(label) ??
    supported(ALIASES.get(number === undefined ? bare : `cp${number}`) ?? '') ??
    supported(number === undefined ? bare : `windows-${number}`) ??
    supported(bare.replace(/^(?:iso)?8859(\d+)$/, 'iso-8859-$1'))
  );
}

/** @returns the encoding that a label names; null if it is unknown, or names only ASCII */
function encodingOf(label: string | null | undefined): string | null {
  if (!label) return null;
  const key = label
    .slice(0, 60)
    .toLowerCase()
    .replace(/["'\s]/g, '');
  const known = encodings.get(key);
  if (known !== undefined) return known;
  const found = findEncoding(key);
  if (encodings.size < MAX_LABELS) encodings.set(key, found);
  return found;
}

/** What ISO-2022-JP writes before Japanese characters. All its bytes are ASCII. */
const JAPANESE = ['\x1b$B', '\x1b$@'];

/** As long as what a character may lack. */
const LINE_ENDS = Buffer.from('\n\n\n');

function guess(bytes: Buffer): string {
  if (JAPANESE.some((mark) => bytes.includes(mark))) return 'iso-2022-jp';
  if (isUtf8(bytes)) return 'utf-8';
  const sample = createTextSample();
  // The last byte of a text is no character that was cut, but one of an older set.
  if (!sample.add(bytes)) sample.add(LINE_ENDS);
  return sample.isUtf8() ? 'utf-8' : 'windows-1252';
}

/** A declaration that can be read byte by byte is not in UTF-16, even if it says so. */
function declaredInHtml(bytes: Buffer): string | null {
  const encoding = encodingOf(META.exec(bytes.toString('latin1', 0, META_BYTES))?.[1]);
  return encoding?.startsWith('utf-16') ? 'utf-8' : encoding;
}

function encodingFor(bytes: Buffer, label: string | null, html: boolean): string {
  const mark = readEncodingMark(bytes.subarray(0, META_BYTES));
  const labelled = encodingOf(label);
  if (mark && (mark.bytes > 0 || labelled === null || labelled.startsWith('utf-16'))) return mark.encoding;
  const declared = labelled ?? (html ? declaredInHtml(bytes) : null);
  // Text that claims to be UTF-8 and is not would lose its letters.
  return declared === null || declared === 'utf-8' ? guess(bytes) : declared;
}

export interface TextKind {
  /** It may declare its encoding in a `<meta>` element. */
  html?: boolean;
  /** The bytes were cut, so the last character may be incomplete; it is left out. */
  cut?: boolean;
}

/**
 * Decodes a text: by its byte order mark, by its label, by `<meta>`, else as UTF-8 or, if it is not, windows-1252.
 * @param label as the mail says; null if it says nothing
 */
export function decodeText(
  bytes: Buffer,
  label: string | null,
  { html = false, cut = false }: TextKind = {},
): string {
  const old = label === null ? null : decodeOldCharset(bytes, label);
  if (old !== null) return old;
  const encoding = encodingFor(bytes, label, html);
  const text = new TextDecoder(encoding).decode(bytes, { stream: cut });
  // The label was wrong: bytes of other character sets are hardly ever UTF-8.
  return encoding !== 'utf-8' && text.includes('\ufffd') && isUtf8(bytes) ? bytes.toString() : text;
}
