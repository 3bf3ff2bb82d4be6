// Laying a statement out for readers changes white space between words, and nothing else.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { layOut } from './lay-out.ts';

/** The text without white space outside of strings, quoted names and comments. */
const essence = (text: string) =>
  text.replaceAll(
    /('(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*)|\s+/g,
    (_, kept?: string) => kept?.trimEnd() ?? '',
  );

const word = fc.constantFrom(
  ...[
    'select',
    'from',
    'where',
    'and',
    'or',
    'case',
    'when x then y',
    'else z end',
    'order by id',
    'messages',
    'id,',
  ],
  ...[
    `'it''s  (two)'`,
    '"a  b"',
    '-- why (not)\n',
    '$1::bigint[]',
    '\n',
    '   ',
    'a_column_with_a_long_name'.repeat(3),
  ],
);
/** Words and groups of words in parentheses. */
const { sql } = fc.letrec<{ sql: string }>((tie) => ({
  sql: fc
    .array(
      fc.oneof(
        { maxDepth: 4 },
        word,
        tie('sql').map((inner) => `(${inner}\n)`),
      ),
      { maxLength: 30 },
    )
    .map((parts) => parts.join(' ')),
}));

describe('the layout of a statement', () => {
  it('indents by parentheses and clauses', () => {
    expect(layOut(`\nwith a as (\n select id,\n name from t\n  where x), b as (select 1\n)\n select 1`)).toBe(
      ['with a as (', '  select id,', '    name from t', '  where x), b as (select 1', ')', 'select 1'].join(
        '\n',
      ),
    );
  });

  it('divides a long line before a clause, outside of parentheses', () => {
    const columns = `${'some_column, '.repeat(6)}(select max(id) from others)`;
    expect(layOut(`select ${columns} from messages`)).toBe(`select ${columns}\nfrom messages`);
  });

  it('changes white space only', () => {
    fc.assert(fc.property(sql, (text) => expect(essence(layOut(text))).toBe(essence(text))));
  });
});
