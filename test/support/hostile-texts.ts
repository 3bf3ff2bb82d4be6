function repeat(unit: string, length: number): string {
  return unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
}

const repeated = (unit: string) => (length: number) => repeat(unit, length);

/** Texts on which careless code takes quadratic time, by their content. Each has the given length. */
export const hostileTexts: Record<string, (length: number) => string> = {
  'one long word': repeated('a'),
  'short words': repeated('a '),
  'spaces inside': (length) => `a${' '.repeat(Math.max(0, length - 2))}b`,
  'tabs inside': (length) => `a${'\t'.repeat(Math.max(0, length - 2))}b`,
  'empty lines': repeated('\r\n'),
  'line feeds and spaces': repeated('\n '),
  'carriage returns': repeated('\r'),
  dots: repeated('.'),
  commas: repeated('a@b.co, '),
  'at signs': repeated('@'),
  'angle brackets': repeated('<'),
  'closed brackets': repeated('<>'),
  ampersands: repeated('&'),
  entities: repeated('&amp;'),
  parentheses: repeated('('),
  quotes: repeated('"'),
  apostrophes: repeated("'"),
  'apostrophes in cells': repeated(";'"),
  signs: repeated(';-'),
  'numbers with signs': repeated(';-1'),
  'quotes and backslashes': repeated('"\\'),
  backslashes: repeated('\\'),
  slashes: repeated('/'),
  'percent signs': repeated('%41'),
  'query parameters': repeated('a=b&'),
  'encoded words': repeated('=?'),
  umlauts: repeated('ä'),
  'Chinese text': repeated('漢'),
  'combining marks': (length) => `e${'\u0301'.repeat(Math.max(0, length - 1))}`,
  'joined emoji': repeated('\u{1F468}\u200d'),
  flags: repeated('\u{1F1E6}'),
  'right-to-left marks': repeated('\u202e'),
  'bold tags': repeated('<b>'),
  'wrongly closed tags': repeated('<b></i>'),
  'nested blocks': repeated('<div><p><a href="x">'),
  tables: repeated('<table><tr><td>'),
  'hidden paragraphs': repeated('<p style="display:none">'),
  comments: repeated('<!--'),
  attributes: (length) => `<p ${repeat('a=b ', length)}`.slice(0, length),
  links: repeated('<a href=x>x</a>'),
  'line breaks': repeated('<br>'),
  'empty strings in JSON': repeated('"",'),
  'opened lists in JSON': repeated('['),
  'opened objects in JSON': repeated('{"a":'),
};

/** Texts that validation rejects, so that they never reach the code that composes a message. */
export const brokenTexts: Record<string, (length: number) => string> = {
  NUL: repeated('\0'),
  'half surrogate pairs': repeated('\ud800'),
};
