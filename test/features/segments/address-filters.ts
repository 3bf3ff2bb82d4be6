/** Values of filters by email and phone, in many spellings. */
import fc from 'fast-check';

/** The contacts have numbers from this on in their addresses, which keep these apart. */
export const firstNumber = 1_000;
const someOf = fc.integer({ min: firstNumber, max: firstNumber + 59 });
export const emails = fc
  .tuple(
    someOf,
    fc.constantFrom(
      'ada@EXAMPLE.com',
      'Bob@Bücher.com',
      'x_y@example.org',
      'jörg@example.com',
      'jo\u0308rg@example.com',
      'i\u0307+tag@example.com',
      'i+TAG@example.com',
      'οδος@βόλος.com',
      'STRASSE%@example.com',
      'a b"@example.com',
      `${'x'.repeat(70)}@example.com`,
      '@',
      'x',
      '',
    ),
  )
  .map(([n, rest]) => `${n}.${rest}`);
export const phones = fc
  .tuple(
    fc.constantFrom(
      '+1 (415) 555-',
      '(415) 555-',
      '030 ',
      '0049 30',
      '4420',
      '06 6',
      '+39 06-6',
      '٠٣٠',
      '+',
      'x',
      '',
    ),
    someOf,
  )
  .map(([rest, n]) => `${rest}${n}`);
export const emailParts = fc.constantFrom(
  '100',
  'ADA',
  '@bücher.com',
  'Example.',
  'ö',
  'Ö',
  '_',
  '%',
  '.COM',
  '@',
  ' ',
  '\u00a0',
  '\u00ad',
  '.',
  '\\',
  '"',
  '+tag',
  'i\u0307',
  'İ',
  'Σ',
  'σ@',
  '@xn--',
  '. com',
  'x'.repeat(1_000),
);
export const phoneParts = fc.constantFrom(
  '+49',
  '030',
  '0049',
  '415',
  '555-10',
  '(415)',
  '0',
  '+',
  'x',
  '-',
  '10',
  ' ',
  '()',
  '(0)',
  '00',
  '1'.repeat(1_000),
);
