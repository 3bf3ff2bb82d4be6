// The CSV scanner reads the same records in any blocks, and a malformed record fails only its own line.
import { describe, expect, it } from '@jest/globals';
import type { CsvEncoding } from '../../../src/platform/csv/encodings.ts';
import { CsvScanner, MAX_RECORD_BYTES, type CsvPosition } from '../../../src/platform/csv/scanner.ts';

const beginning: CsvPosition = { offset: 0, row: 1, singleLineUntil: 0 };

interface Options {
  /** Bytes given at once. */
  step?: number;
  from?: CsvPosition;
  encoding?: CsvEncoding;
  countOnly?: boolean;
}

function scan(file: Buffer | string, options: Options = {}) {
  const { step = 65_536, from = beginning, encoding = 'utf-8', countOnly = false } = options;
  const bytes = Buffer.from(file as string);
  const scanner = new CsvScanner({ encoding, delimiter: ',', from, countOnly });
  const records = [];
  for (let at = from.offset; at < bytes.length; at += step) {
    for (const record of scanner.push(bytes.subarray(at, at + step))) records.push(record);
  }
  for (const record of scanner.end()) records.push(record);
  return records;
}

const rows = (file: Buffer | string, options?: Options) =>
  scan(file, options).map(({ row, problem, fields }) => (problem ? [row, problem] : [row, ...fields]));

/** Texts of the characters that matter, the same in every run. */
function* hostileTexts(count: number): Generator<string> {
  let seed = 42;
  const next = (below: number) => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % below;
  const parts = ['"', '"', '""', ',', '\n', '\r', '\r\n', 'a', 'ü', ' ', ',"', '",', '\n"', '😀'];
  for (let made = 0; made < count; made += 1) {
    yield Array.from({ length: 1 + next(40) }, () => parts[next(parts.length)]).join('');
  }
}

describe('the CSV scanner', () => {
  it('reads quoted values, escaped quotes and line breaks of every kind', () => {
    expect(rows('a,b\r\n"1\r\n2","say ""hi"""\r3,\n\n,4')).toEqual([
      [1, 'a', 'b'],
      [2, '1\r\n2', 'say "hi"'],
      [3, '3', ''],
      [5, '', '4'],
    ]);
  });

  it('counts blank records as rows but leaves them out', () => {
    expect(rows('a\n\n,,\n""\nb\n')).toEqual([
      [1, 'a'],
      [5, 'b'],
    ]);
  });

  it('takes a quote inside a value as it is', () => {
    expect(rows('5" pipe,x"y"\n')).toEqual([[1, '5" pipe', 'x"y"']]);
  });

  it('fails only the line of a quote that is never closed', () => {
    expect(rows('a,b\n1,"open\n2,x\n3,y')).toEqual([
      [1, 'a', 'b'],
      [2, 'unclosed_quote'],
      [3, '2', 'x'],
      [4, '3', 'y'],
    ]);
  });

  it('fails only the line of a quote that a later line seems to close', () => {
    expect(rows('1,"open\n2,"x y"\n3,"a\nb"\n')).toEqual([
      [1, 'text_after_quote'],
      [2, '2', 'x y'],
      [3, '3', 'a\nb'],
    ]);
  });

  it('fails only the line of a value of 10 MB, quoted or not', () => {
    const long = 'x'.repeat(10 * 1024 * 1024);
    expect(rows(`a,${long}\nb,c\n`)).toEqual([
      [1, 'record_too_long'],
      [2, 'b', 'c'],
    ]);
    expect(rows(`a,"${long}"\nb,c\n`)).toEqual([
      [1, 'record_too_long'],
      [2, 'b', 'c'],
    ]);
  });

  it('reads a record of exactly 1 MiB and refuses one that is longer, however it arrives', () => {
    const longest = 'x'.repeat(MAX_RECORD_BYTES);
    for (const step of [1_000, 65_536]) {
      expect(scan(`${longest}\nb\n`, { step }).map(({ problem }) => problem)).toEqual([null, null]);
      expect(scan(`${longest}x\nb\n`, { step }).map(({ problem }) => problem)).toEqual([
        'record_too_long',
        null,
      ]);
    }
  });

  it('refuses a record with too many columns', () => {
    expect(rows(`${'a,'.repeat(2_001)}\nb\n`)).toEqual([
      [1, 'too_many_columns'],
      [2, 'b'],
    ]);
  });

  it('refuses what is not in the encoding of the file', () => {
    const file = Buffer.concat([
      Buffer.from('ok\n'),
      Buffer.from('J\xf6rg\n', 'latin1'),
      Buffer.from('Jörg\n'),
    ]);
    expect(rows(file)).toEqual([
      [1, 'ok'],
      [2, 'invalid_encoding'],
      [3, 'Jörg'],
    ]);
    expect(rows(Buffer.from('a\ud800b\n', 'utf16le'), { encoding: 'utf-16le' })).toEqual([
      [1, 'invalid_encoding'],
    ]);
  });

  it('reads UTF-16 of both byte orders, cut anywhere', () => {
    const little = Buffer.from('Jörg,"a\n😀"\r\nb,c\r\n', 'utf16le');
    const expected = [
      [1, 'Jörg', 'a\n😀'],
      [2, 'b', 'c'],
    ];
    for (const step of [1, 2, 3, 7]) {
      expect(rows(little, { encoding: 'utf-16le', step })).toEqual(expected);
      expect(rows(Buffer.from(little).swap16(), { encoding: 'utf-16be', step })).toEqual(expected);
    }
  });

  it('reads the same records wherever the file is cut into blocks', () => {
    for (const text of hostileTexts(150)) {
      const whole = scan(text);
      for (const step of [1, 2, 3, 5]) expect([text, scan(text, { step })]).toEqual([text, whole]);
      expect(scan(text, { countOnly: true })).toHaveLength(whole.length);
    }
  });

  it('reads the same records if it resumes after any of them', () => {
    for (const text of hostileTexts(100)) {
      const whole = scan(text);
      for (const [index, { next }] of whole.entries()) {
        expect([text, scan(text, { from: next })]).toEqual([text, whole.slice(index + 1)]);
      }
    }
  });

  it('reads every line of a file in which each seems to go on for ever', () => {
    // Without the rule for lines that were searched before, each line is searched up to 1 MiB.
    const records = scan('x",y,"\n'.repeat(150_000));
    expect(records).toHaveLength(150_000);
    expect(records.every(({ problem }) => problem !== null)).toBe(true);
  });

  it('takes time in proportion to the size if the file arrives byte by byte', () => {
    expect(scan(`"${'a\n'.repeat(600_000)}1,2\n`, { step: 1 })).toHaveLength(600_001);
  });
});
