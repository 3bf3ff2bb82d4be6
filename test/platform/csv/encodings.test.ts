// A file in a legacy encoding is recognized by its text, or read as the client says.
import { execFileSync } from 'node:child_process';
import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { encodingOf } from '../../../src/platform/csv/encodings.ts';
import { inspectCsv, readCsv } from '../../../src/platform/csv/inspect.ts';

/** Opens `file` in blocks of 100 bytes, so that characters are cut. */
const opener = (file: Buffer) => (offset: number) => {
  const blocks: Buffer[] = [];
  for (let at = offset; at < file.length; at += 100) blocks.push(file.subarray(at, at + 100));
  return Promise.resolve(Readable.from(blocks) as AsyncIterable<Buffer>);
};

/** Rows of a name and a city. */
const people = {
  western: ['José García;Málaga', 'François Lefèvre;Besançon', 'Jörg Müller;Köln', 'Søren Ærø;Tromsø'],
  central: ['Łukasz Wójcik;Łódź', 'Jiří Dvořák;Plzeň', 'Gábor Szűcs;Győr', 'Željko Šarić;Šibenik'],
  cyrillic: ['Иван Петров;Москва', 'Ольга Смирнова;Казань', 'Георги Димитров;София'],
  greek: ['Γιώργος Παπαδόπουλος;Αθήνα', 'Ελένη Νικολάου;Θεσσαλονίκη'],
  turkish: ['Gülşah Yıldız;İstanbul', 'Şükrü Çağlar;Eskişehir'],
  hebrew: ['דוד כהן;תל אביב', 'שרה לוי;ירושלים'],
  arabic: ['محمد علي;القاهرة', 'فاطمة حسن;الرياض'],
  baltic: ['Jānis Bērziņš;Rīga', 'Žydrūnas Šimkus;Klaipėda'],
  thai: ['สมชาย ใจดี;กรุงเทพ', 'สุดา แสงทอง;เชียงใหม่'],
  japanese: ['山田 太郎;東京都', '佐藤 花子;ソポ町', 'みどり 表;さくら市'],
  chinese: ['王小明;北京市', '李娜;上海市', '张伟;广州市'],
  taiwanese: ['陳怡君;台北市', '許功蓋;高雄市'],
  korean: ['김민수;서울', '이영희;부산'],
};

interface Sample {
  /** The name in Carillon. */
  encoding: string;
  /** The codec of Python that writes it. */
  codec: string;
  rows: readonly string[];
}
const samples: Sample[] = [
  ['windows-1250', 'cp1250', people.central],
  ['windows-1251', 'cp1251', people.cyrillic],
  ['windows-1252', 'cp1252', people.western],
  ['windows-1253', 'cp1253', people.greek],
  ['windows-1254', 'cp1254', people.turkish],
  ['windows-1255', 'cp1255', people.hebrew],
  ['windows-1256', 'cp1256', people.arabic],
  ['windows-1257', 'cp1257', people.baltic],
  ['windows-874', 'cp874', people.thai],
  ['iso-8859-2', 'iso8859_2', people.central.slice(0, 3)],
  ['koi8-r', 'koi8_r', people.cyrillic],
  ['macintosh', 'mac_roman', people.western],
  ['x-mac-cyrillic', 'mac_cyrillic', people.cyrillic],
  ['ibm850', 'cp850', people.western],
  ['ibm866', 'cp866', people.cyrillic],
  ['shift_jis', 'cp932', people.japanese],
  ['euc-jp', 'euc_jp', people.japanese],
  ['gb18030', 'gbk', people.chinese],
  ['big5', 'big5', people.taiwanese],
  ['euc-kr', 'cp949', people.korean],
].map(([encoding, codec, rows]) => ({ encoding, codec, rows }) as Sample);

const fileOf = (rows: readonly string[], delimiter = ';') =>
  ['email;name;city', ...rows.map((row, n) => `p${n}@example.com;${row}`)]
    .map((line) => line.replaceAll(';', delimiter))
    .join('\r\n');

/** Node.js cannot write these encodings. Python writes all files at once. */
function encode(files: readonly { codec: string; text: string }[]): Buffer[] {
  const program =
    'import sys, json, base64\n' +
    'print(json.dumps([base64.b64encode(f["text"].encode(f["codec"])).decode() for f in json.load(sys.stdin)]))';
  const encoded = execFileSync('python3', ['-c', program], {
    input: JSON.stringify(files),
    encoding: 'utf8',
  });
  return (JSON.parse(encoded) as string[]).map((text) => Buffer.from(text, 'base64'));
}
const encoded = new Map(
  encode(samples.map(({ codec, rows }) => ({ codec, text: fileOf(rows) }))).map((file, n) => [
    (samples[n] as Sample).encoding,
    file,
  ]),
);

async function read(file: Buffer, given?: string) {
  const facts = await inspectCsv(
    opener(file),
    () => undefined,
    given === undefined ? null : encodingOf(given),
  );
  if ('problem' in facts) return facts;
  const rows: string[] = [];
  for await (const { records } of readCsv(opener(file), facts, facts.body)) {
    rows.push(...records.map(({ fields }) => fields.slice(1).join(';')));
  }
  const samples = facts.sampled.flatMap(({ fields }) => fields).filter((text) => /[^ -~]/.test(text));
  return { encoding: facts.encoding, rows, samples: samples.slice(0, 3), records: facts.records };
}

describe('a file that is not UTF-8', () => {
  it.each(samples)('is recognized as $encoding', async ({ encoding, rows }) => {
    const found = await read(encoded.get(encoding) as Buffer);
    expect(found).toMatchObject({ encoding, rows, records: rows.length });
    const values = rows.flatMap((row) => row.split(';'));
    expect(found).toMatchObject({ samples: values.filter((value) => /[^ -~]/.test(value)).slice(0, 3) });
  });

  it.each(samples)('is read as $encoding if the client says so', async ({ encoding, rows }) => {
    expect(await read(encoded.get(encoding) as Buffer, encoding)).toMatchObject({ encoding, rows });
  });

  it('is read as another encoding if the client says so', async () => {
    const file = encoded.get('windows-1251') as Buffer;
    const found = await read(file, 'cp1252');
    expect(found).toMatchObject({
      encoding: 'windows-1252',
      samples: [expect.stringMatching(/^[À-ÿ ]+$/), expect.anything(), expect.anything()],
    });
  });

  it.each([
    'Jörg',
    'José García',
    'Müller',
    'Málaga',
    'São Paulo',
    'Peña',
    'Núñez',
    'Strøm',
    'é',
    'Citroën',
    '5 €',
  ])('is windows-1252 if one word is all that it has: %s', async (word) => {
    const file = Buffer.from(`email;name\r\na@example.com;${word}\r\n`.replace('€', '\x80'), 'latin1');
    expect(await read(file)).toMatchObject({ rows: [word], samples: [word] });
  });

  it('is recognized by a few names among many rows of ASCII', async () => {
    const plain = Buffer.from('ada@example.com;Ada;London\r\n'.repeat(5_000));
    const [header = '', ...rows] = fileOf(people.cyrillic).split('\r\n');
    const parts = encode([{ codec: 'cp1251', text: rows.map((row) => `${row}\r\n`).join('\n') }]);
    const names = (parts[0] as Buffer).toString('latin1').split('\n\n').join('\n').split('\r\n');
    const spaced = names.flatMap((row) => [plain, Buffer.from(`${row}\r\n`, 'latin1')]);
    const file = Buffer.concat([Buffer.from(`${header}\r\n`), ...spaced]);
    expect(await read(file)).toMatchObject({
      encoding: 'windows-1251',
      samples: ['Иван Петров', 'Москва', 'Ольга Смирнова'],
    });
  });

  it('has its delimiter recognized although the header is not ASCII', async () => {
    const file = Buffer.from('email;Straße\r\na@example.com;Müllerstraße 1, Köln\r\n', 'latin1');
    expect(await read(file)).toMatchObject({ rows: ['Müllerstraße 1, Köln'] });
  });

  it.each(['cp932', 'gbk', 'big5'])(
    'may have | as delimiter and as half of a character: %s',
    async (codec) => {
      const rows = { cp932: people.japanese, gbk: ['皘;纜'], big5: ['育;會'] }[codec] as string[];
      const [file] = encode([{ codec, text: fileOf(rows, '|') }]);
      const encoding = { cp932: 'shift_jis', gbk: 'gbk', big5: 'big5' }[codec] as string;
      expect(file?.toString('latin1')).toMatch(/[\x80-\xff]\|/);
      expect(await read(file as Buffer, encoding)).toMatchObject({ rows });
    },
  );

  it('is refused if its byte order mark contradicts the client', async () => {
    const file = Buffer.from('\ufeffemail\na@example.com\n');
    expect(await read(file, 'windows-1251')).toEqual({ problem: 'wrong_encoding' });
    expect(await read(file, 'utf-8')).toMatchObject({ encoding: 'utf-8', rows: [''] });
  });
});

it.each([
  ['latin1', 'windows-1252'],
  ['CP1251', 'windows-1251'],
  ['Shift-JIS', 'shift_jis'],
  ['SJIS', 'shift_jis'],
  ['cp932', 'shift_jis'],
  ['Mac Roman', 'macintosh'],
  ['x-mac-roman', 'macintosh'],
  ['GB2312', 'gbk'],
  ['utf8', 'utf-8'],
  ['UTF-16', 'utf-16le'],
  ['cp437', 'ibm437'],
  ['ISO-8859-1', 'windows-1252'],
  ['klingon', null],
  ['', null],
  ['replacement', null],
  ['iso-2022-jp', null],
])('calls %s %s', (label, encoding) => {
  expect(encodingOf(label)).toBe(encoding);
});
