// The CSV writer marks cells that spreadsheets would run as formulas, and the marking can be undone exactly.
import { describe, expect, it } from '@jest/globals';
import { guardCell, unguardCell } from '../../../src/platform/csv/guard.ts';
import { csvRecord } from '../../../src/platform/csv/writer.ts';

/** A generator of the same numbers in every run (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A cell that ends with a number is followed by a comma or a quotation mark for readers that do not take it for an end. */
const FORMULA = /^[\t\r\n]*(?:[=@＝－]|[+-](?!\d*\.?\d*(?:e[+-]?\d+)?[",]).*\()/i;

/** Reads as spreadsheets do: quotation marks count at the beginning of a cell only, and text may follow them. */
function cellsFor(delimiter: string, file: string): string[] {
  const cell = new RegExp(`(?:"((?:[^"]|"")*)(?:"|$))?([^${delimiter}\r\n]*)(?:[${delimiter}\r\n]|$)`, 'y');
  const cells: string[] = [];
  while (cell.lastIndex < file.length) {
    const [, quoted = '', rest = ''] = cell.exec(file) ?? [];
    cells.push(quoted.replaceAll('""', '"') + rest);
  }
  return cells;
}

describe('a record', () => {
  it.each([
    [['a', 'b'], 'a,b\r\n'],
    [[null, ''], ',\r\n'],
    [[''], '""\r\n'],
    [['a,b', 'say "hi"'], '"a,b","say ""hi"""\r\n'],
    [['two\nlines', 'cr\rcr'], '"two\nlines","cr\rcr"\r\n'],
    [[' a', 'b\t'], '" a","b\t"\r\n'],
    [['a;b', 'a\tb'], '"a;b","a\tb"\r\n'],
    [['x', 'a;=1+1'], `x,"a;'=1+1"\r\n`],
    [['x', 'a;"=1+1;b'], `x,"a;'""=1+1;b"\r\n`],
    [['=1+1', 'é'], "'=1+1,é\r\n"],
  ] as [string[], string][])('of %j is %j', (cells, line) => {
    expect(csvRecord(cells)).toBe(line);
  });
});

describe('the guard of a cell', () => {
  it.each([
    '=1+1',
    '+1+1',
    '-1+1',
    '@sum(1)',
    '\tx',
    '\rx',
    '\nx',
    '＝1+1',
    '＋1',
    '－1',
    '＠sum(1)',
    '=',
    '+',
    '+49 170 1',
    '-x',
    '--1',
    '+1e',
    "'=1",
    "''@x",
  ])('marks %j as text', (text) => {
    expect(guardCell(text)).toBe(`'${text}`);
  });

  it.each([
    ['a;=1+1', "a;'=1+1"],
    ['a\t@sum(1)', "a\t'@sum(1)"],
    ['a;b;-1+1', "a;b;'-1+1"],
    ['a;-1;b', "a;'-1;b"],
    ['a;＝1', "a;'＝1"],
    ["a;'=1", "a;''=1"],
    ['=1;=2', "'=1;'=2"],
    ['\t=1', "'\t'=1"],
    ['a;"=1', `a;'"=1`],
    [`a\t"'"@x`, `a\t'"'"@x`],
    ['two\n"=1', `two\n'"=1`],
    ['two\n=lines', "two\n'=lines"],
    ['two\r\n+1+1', "two\r\n'+1+1"],
    ['two\n-lines', "two\n'-lines"],
    ['two\n- now()', "two\n'- now()"],
    ["two\n- cmd|' '!A1\nx", "two\n'- cmd|' '!A1\nx"],
  ])('marks what other readers take for cells: %j is %j', (text, guarded) => {
    expect(guardCell(text)).toBe(guarded);
    expect(unguardCell(guarded)).toBe(text);
  });

  it.each([
    '',
    'a',
    '1',
    '-1',
    '+1',
    '-1.5',
    '+4917012345678',
    '-.5',
    '1e5',
    '-1e-5',
    "'",
    "'a",
    "'-1",
    'a=1',
    ' =1',
    'a;b',
    'a;-1',
    'a\t1;2',
    'a-b;c=d',
    'two\r\nlines',
    'a list:\n- one; two\n- "three"\r\n+ four',
    "a list:\n'- one",
    '"=1+1"',
    '"-" is a sign',
    'a＝b',
  ])('leaves %j as it is', (text) => {
    expect(guardCell(text)).toBe(text);
    expect(unguardCell(text)).toBe(text);
  });

  it('is undone exactly, and leaves readers with other delimiters no formula, whatever the text', () => {
    const random = createRandom(7);
    const alphabet = [...`'=+-@\t\r"0123.eE a\n;＝－("`];
    const textOf = () =>
      Array.from({ length: Math.floor(random() * 8) }, () => {
        return alphabet[Math.floor(random() * alphabet.length)];
      }).join('');
    const faults: unknown[] = [];
    for (let round = 0; round < 20_000; round += 1) {
      const cells = [textOf(), textOf()];
      for (const text of cells) if (unguardCell(guardCell(text)) !== text) faults.push(text);
      for (const record of [cells, ['x', ...cells]]) {
        const read = [';', '\t'].flatMap((delimiter) => cellsFor(delimiter, csvRecord(record)));
        if (read.some((cell) => FORMULA.test(cell))) faults.push({ record, read });
      }
    }
    expect(faults).toEqual([]);
  });
});
