/**
 * The encodings of CSV files: those of the WHATWG Encoding Standard (https://encoding.spec.whatwg.org), except for
 * those with escape sequences, and the code pages in which Excel writes "CSV (MS-DOS)" and "CSV (Macintosh)".
 */

/** The upper halves of code pages that Node.js does not know (https://www.unicode.org/Public/MAPPINGS/VENDORS/). */
const TABLES = {
  ibm437:
    'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0',
  ibm850:
    'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u00ad±‗¾¶§÷¸°¨·¹³²■\u00a0',
  ibm852:
    'ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐└┴┬├─┼Ăă╚╔╩╦╠═╬¤đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u00ad˝˛ˇ˘§÷¸°¨˙űŘř■\u00a0',
  'x-mac-ce':
    'ÄĀāÉĄÖÜáąČäčĆćéŹźĎíďĒēĖóėôöõúĚěü†°Ę£§•¶ß®©™ę¨≠ģĮįĪ≤≥īĶ∂∑łĻļĽľĹĺŅņŃ¬√ńŇ∆«»…\u00a0ňŐÕőŌ–—“”‘’÷◊ōŔŕŘ‹›řŖŗŠ‚„šŚśÁŤťÍŽžŪÓÔūŮÚůŰűŲųÝýķŻŁżĢˇ',
} as const;

/** Latin-1 is read as windows-1252, as in browsers. */
export const csvEncodings = [
  'utf-8',
  'utf-16le',
  'utf-16be',
  'windows-1250',
  'windows-1251',
  'windows-1252',
  'windows-1253',
  'windows-1254',
  'windows-1255',
  'windows-1256',
  'windows-1257',
  'windows-1258',
  'windows-874',
  'iso-8859-2',
  'iso-8859-3',
  'iso-8859-4',
  'iso-8859-5',
  'iso-8859-6',
  'iso-8859-7',
  'iso-8859-8',
  'iso-8859-10',
  'iso-8859-13',
  'iso-8859-14',
  'iso-8859-15',
  'iso-8859-16',
  'koi8-r',
  'koi8-u',
  'macintosh',
  'x-mac-cyrillic',
  'x-mac-ce',
  'ibm437',
  'ibm850',
  'ibm852',
  'ibm866',
  'shift_jis',
  'euc-jp',
  'gbk',
  'gb18030',
  'big5',
  'euc-kr',
] as const;
export type CsvEncoding = (typeof csvEncodings)[number];

const known: ReadonlySet<string> = new Set(csvEncodings);
const isKnown = (name: string): name is CsvEncoding => known.has(name);

/** Names that the standard does not have, without punctuation: those of Windows, Python, iconv and macOS. */
const OTHER_NAMES: ReadonlyMap<string, CsvEncoding> = new Map([
  ['macroman', 'macintosh'],
  ['applemacroman', 'macintosh'],
  ['xmacroman', 'macintosh'],
  ['maccyrillic', 'x-mac-cyrillic'],
  ['maclatin2', 'x-mac-ce'],
  ['maccentraleurope', 'x-mac-ce'],
  ['maccentraleuropean', 'x-mac-ce'],
  ['maccenteuro', 'x-mac-ce'],
  ['macce', 'x-mac-ce'],
  ['xmacce', 'x-mac-ce'],
  ['cp932', 'shift_jis'],
  ['shiftjis2004', 'shift_jis'],
  ['eucjis2004', 'euc-jp'],
  ['cp936', 'gbk'],
  ['cp949', 'euc-kr'],
  ['uhc', 'euc-kr'],
  ['cp950', 'big5'],
  ['cp874', 'windows-874'],
  ['cp437', 'ibm437'],
  ['ibm437', 'ibm437'],
  ['cp850', 'ibm850'],
  ['ibm850', 'ibm850'],
  ['cp858', 'ibm850'],
  ['cp852', 'ibm852'],
  ['ibm852', 'ibm852'],
  ['utf8sig', 'utf-8'],
  ['utf8bom', 'utf-8'],
  ['ansi', 'windows-1252'],
]);

/**
 * Finds an encoding by one of its names.
 * @param label such as `cp1251`, `Shift-JIS` or `latin1`; case, and hyphens for underscores, do not matter
 * @returns null if there is none of this name
 */
export function encodingOf(label: string): CsvEncoding | null {
  const name = label.trim().toLowerCase();
  const plain = name.replace(/[^a-z0-9]/g, '');
  const other = OTHER_NAMES.get(plain);
  if (other !== undefined) return other;
  for (const each of [name, name.replaceAll('_', '-'), name.replaceAll('-', '_'), plain]) {
    const standard = standardName(each);
    if (standard !== null && isKnown(standard)) return standard;
  }
  return null;
}

function standardName(label: string): string | null {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return null;
  }
}

/** The decoder of an encoding of bytes. */
export interface ByteDecoder {
  decode(bytes: Uint8Array): string;
}

function createTableDecoder(upper: string): ByteDecoder {
  const units = Uint16Array.from({ length: 256 }, (_, byte) =>
    byte < 0x80 ? byte : upper.charCodeAt(byte - 0x80),
  );
  return {
    decode: (bytes) =>
      Buffer.from(Uint16Array.from(bytes, (byte) => units[byte] as number).buffer).toString('utf16le'),
  };
}

/** Creates a decoder that replaces broken characters by U+FFFD. */
export function createDecoder(encoding: CsvEncoding): ByteDecoder {
  if (encoding in TABLES) return createTableDecoder(TABLES[encoding as keyof typeof TABLES]);
  // Each value is decoded by itself, so a mark at its beginning is part of it.
  return new TextDecoder(encoding, { ignoreBOM: true });
}

/**
 * The first byte of a character of two bytes whose second byte may be `|`; null for encodings that have none. Other
 * delimiters, quotation marks and line breaks are never part of a longer character.
 */
export function leadByteOf(encoding: CsvEncoding): ((byte: number) => boolean) | null {
  if (encoding === 'shift_jis')
    return (byte) => (byte >= 0x81 && byte <= 0x9f) || (byte >= 0xe0 && byte <= 0xfc);
  if (['gbk', 'gb18030', 'big5'].includes(encoding)) return (byte) => byte >= 0x81 && byte <= 0xfe;
  return null;
}
