import { createDecoder, type CsvEncoding, encodingOf } from './encodings.ts';

/** The encodings to choose from, by their names in the library. The others are rare, and too similar to one of these. */
const CANDIDATES = [
  ...['windows-1250', 'windows-1251', 'windows-1252', 'windows-1253', 'windows-1254', 'windows-1255'],
  ...[
    'windows-1256',
    'windows-1257',
    'windows-1258',
    'iso-8859-2',
    'iso-8859-5',
    'iso-8859-7',
    'iso-8859-15',
  ],
  ...['mac-roman', 'mac-cyrillic', 'koi8-r', 'koi8-u', 'cp437', 'cp850', 'cp866', 'cp874'],
  ...['cp932', 'euc-jis-2004', 'gb18030', 'big5hkscs', 'cp949'],
];

/** What the library cannot distinguish in short texts, or calls by a name of its own. */
const INSTEAD: ReadonlyMap<string, CsvEncoding> = new Map([
  ['cp437', 'ibm850'],
  ['big5hkscs', 'big5'],
]);

/**
 * Windows-1252 is by far the most frequent of these encodings. It is preferred if its letters are plausible and if it is
 * at least this likely in comparison with the likeliest one.
 */
const SHARE = 0.65;

/** Letters of Western European languages. Those of Icelandic are left out: Turkish has others in their place. */
const LETTER = /[ªºÀ-ÏÑ-ÖØ-Üß-ïñ-öø-üÿ]/;
const SIGN = /[€‚„…†ˆ‰‹‘’“”•–—˜™›\u00a0-¿×÷]/;
const ANY_LETTER = /\p{L}/u;

/** Whether a text that was decoded as windows-1252 has only letters and signs that it is likely to have. */
function isPlausible(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char < '\u0080' || LETTER.test(char)) continue;
    if (!SIGN.test(char)) return false;
    // In other encodings, these are letters, so they are within words.
    if (ANY_LETTER.test(text.charAt(at - 1)) && ANY_LETTER.test(text.charAt(at + 1))) return false;
  }
  return true;
}

/**
 * Recognizes the encoding of text that is not UTF-8.
 * @param lines lines with characters beyond ASCII, such as those of {@link TextSample}
 */
export async function detectEncoding(lines: Buffer): Promise<CsvEncoding> {
  if (lines.length === 0) return 'windows-1252';
  // Its tables take a megabyte and a tenth of a second. Most files are UTF-8 and do not need them.
  const { detectAll } = await import('jschardet');
  const found = detectAll(lines, { detectEncodings: CANDIDATES, minimumThreshold: 0 });
  const [best] = found;
  const name = best?.encoding?.toLowerCase() ?? '';
  const likeliest = INSTEAD.get(name) ?? encodingOf(name);
  if (!best || likeliest === null) return 'windows-1252';
  const western = createDecoder('windows-1252').decode(lines);
  if (createDecoder(likeliest).decode(lines) === western) return 'windows-1252';
  const share = found.find(({ encoding }) => encoding?.toLowerCase() === 'windows-1252')?.confidence ?? 0;
  return share >= SHARE * best.confidence && isPlausible(western) ? 'windows-1252' : likeliest;
}
