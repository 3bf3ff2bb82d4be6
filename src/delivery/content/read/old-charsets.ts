/** Character sets of old mails that browsers, and so `TextDecoder`, no longer know. All their bytes are ASCII. */

const KOREAN = /^(?:x-|cs)?iso-?2022-?kr$/i;
const CHINESE = /^(?:x-|cs)?hz(?:-?gb-?2312)?$/i;
const UTF_7 = /^(?:x-|cs)?(?:unicode-1-1-)?utf-?7$|^(?:cp)?65000$/i;

const SHIFT_IN = '\x0f';
const SHIFT_OUT = /\x0e([^\x0f\r\n]*)\x0f?/g;
/** RFC 1557: designates KS C 5601. */
const DESIGNATION = /\x1b\$\)C/g;

/** The bytes with their highest bit set, decoded. */
function decodeHigh(text: string, encoding: string): string {
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0) | 0x80);
  return new TextDecoder(encoding).decode(bytes);
}

/** ISO-2022-KR (RFC 1557). */
function decodeKorean(text: string): string {
  return text
    .replace(DESIGNATION, '')
    .replace(SHIFT_OUT, (_all, shifted: string) => decodeHigh(shifted, 'euc-kr'))
    .replaceAll(SHIFT_IN, '');
}

/** HZ (RFC 1843). */
function decodeChinese(text: string): string {
  return text.replace(/~\{([^\r\n]*?)(?:~\}|(?=[\r\n])|$)|~~|~\r?\n/g, (found, shifted?: string) => {
    if (shifted !== undefined) return decodeHigh(shifted, 'gbk');
    return found === '~~' ? '~' : '';
  });
}

/** UTF-7 (RFC 2152). */
function decodeUtf7(text: string): string {
  return text.replace(/\+([A-Za-z0-9+/]*)-?/g, (_all, encoded: string) => {
    if (encoded === '') return '+';
    const bytes = Buffer.from(encoded, 'base64');
    return bytes
      .subarray(0, bytes.length & ~1)
      .swap16()
      .toString('utf16le');
  });
}

/** @returns null if the label names another character set */
export function decodeOldCharset(bytes: Buffer, label: string): string | null {
  if (UTF_7.test(label)) return decodeUtf7(bytes.toString('latin1'));
  if (KOREAN.test(label)) return decodeKorean(bytes.toString('latin1'));
  return CHINESE.test(label) ? decodeChinese(bytes.toString('latin1')) : null;
}
