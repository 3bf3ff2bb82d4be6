// The CSV inspector detects encoding and delimiter, and refuses files without a readable header.
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { inspectCsv, readCsv } from '../../../src/platform/csv/inspect.ts';
import type { CsvRecord } from '../../../src/platform/csv/scanner.ts';

/** Opens `file` in blocks of 1,000 bytes. */
const opener = (file: Buffer) => (offset: number) => {
  const blocks: Buffer[] = [];
  for (let at = offset; at < file.length; at += 1_000) blocks.push(file.subarray(at, at + 1_000));
  return Promise.resolve(Readable.from(blocks) as AsyncIterable<Buffer>);
};

const inspect = (file: Buffer | string) => inspectCsv(opener(Buffer.from(file as string)), () => undefined);

const bom = {
  utf8: Buffer.from([0xef, 0xbb, 0xbf]),
  le: Buffer.from([0xff, 0xfe]),
  be: Buffer.from([0xfe, 0xff]),
};
const text = 'email,name\r\nada@example.com,Jörg\r\n';
const le = Buffer.from(text, 'utf16le');
const be = Buffer.from(le).swap16();

describe('looking through a CSV file', () => {
  it.each([
    ['utf-8', Buffer.from(text)],
    ['utf-8', Buffer.concat([bom.utf8, Buffer.from(text)])],
    ['utf-16le', Buffer.concat([bom.le, le])],
    ['utf-16le', le],
    ['utf-16be', Buffer.concat([bom.be, be])],
    ['utf-16be', be],
    ['windows-1252', Buffer.from(text, 'latin1')],
  ])('recognizes %s, with and without a byte order mark', async (encoding, file) => {
    const facts = await inspect(file);
    expect(facts).toMatchObject({ encoding, delimiter: ',', header: ['email', 'name'], records: 1 });
    if ('problem' in facts) throw new Error(facts.problem);
    const records: CsvRecord[] = [];
    for await (const group of readCsv(opener(file), facts, facts.body)) records.push(...group.records);
    expect(records.map(({ fields }) => fields)).toEqual([['ada@example.com', 'Jörg']]);
  });

  it('recognizes Latin-1 by the first umlaut, however late it comes', async () => {
    const plain = 'email,name\n' + 'ada@example.com,Ada\n'.repeat(10_000);
    const latin = Buffer.concat([Buffer.from(plain), Buffer.from('j@example.com,J\xf6rg\n', 'latin1')]);
    expect(await inspect(latin)).toMatchObject({ encoding: 'windows-1252', records: 10_001 });
    expect(await inspect(`${plain}j@example.com,Jörg\n`)).toMatchObject({ encoding: 'utf-8' });
  });

  it('takes a file with a few broken bytes for UTF-8 if it has more umlauts than these', async () => {
    const broken = Buffer.concat([
      Buffer.from('email,name\n'),
      Buffer.from([0xff]),
      Buffer.from('email,Jörg Müller\n'),
      Buffer.from([0xc3, 10]),
    ]);
    expect(await inspect(Buffer.concat([broken, Buffer.from('Ägidius\n')]))).toMatchObject({
      encoding: 'utf-8',
    });
    const latin = Buffer.from('email,name\na@x.org,J\xf6rg M\xfcller\nb@x.org,\xc3\xb6\n', 'latin1');
    expect(await inspect(latin)).toMatchObject({ encoding: 'windows-1252' });
  });

  it.each([
    [',', 'email,name\na@x.org,"Doe; Jane; Q"\n'],
    [';', 'email;name;sum\na@x.org;Jane;1,5\nb@x.org;Joe;2,5\n'],
    ['\t', 'email\tname\na@x.org\tDoe, Jane\n'],
    ['|', 'email|name\na@x.org|Doe, Jane\n'],
    [',', 'email\na@x.org\n'],
    [';', 'sep=;\r\nemail,x;name\r\na@x.org;Jane\r\n'],
  ])('recognizes the delimiter %j', async (delimiter, file) => {
    expect(await inspect(file)).toMatchObject({ delimiter });
  });

  it('refuses files that are compressed, empty, or without a readable header', async () => {
    expect(await inspect(Buffer.from('PK\x03\x04etc'))).toEqual({ problem: 'compressed' });
    expect(await inspect(gzipSync('email\n'))).toEqual({ problem: 'compressed' });
    expect(await inspect('')).toEqual({ problem: 'empty' });
    expect(await inspect('\n\n\r\n')).toEqual({ problem: 'empty' });
    expect(await inspect('"email\na@x.org\n')).toEqual({ problem: 'unreadable_header' });
  });

  it('counts no records in a file that has only a header', async () => {
    expect(await inspect('email,name')).toMatchObject({ header: ['email', 'name'], records: 0 });
  });
});
