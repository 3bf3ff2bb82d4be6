// The parts of a mail are those that its writer made, and that Python's email package finds, and its size changes none.
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { scanStructure } from '../../../../src/delivery/content/read/structure.ts';
import { clientMail, mailClients } from '../../../support/client-mail.ts';
import { mailKinds } from '../../../support/mail-kinds.ts';
import { differenceOf, type MailParts, partsOf, pythonParts } from '../../../support/mail-suite/parts.ts';
import { randomFrom } from '../../../support/random.ts';

const MAILS = 1_000;
/** Of the files of one size. */
const MAX_BYTES = 60_000_000;
const MUTATIONS = 2_000;
const SEED = 20_261_128;
const MINUTE = 60_000;
/** Bytes of the file in each mail. */
const SIZES = [20_000, 300_000, 3_000_000];

type Random = (below: number) => number;

/** Boundaries, and how a field names them. */
const boundaries: ((id: number) => { boundary: string; field: string })[] = [
  (id) => ({ boundary: `b${id}`, field: `boundary=b${id}` }),
  (id) => ({ boundary: `=_${id}:x?`, field: `charset=utf-8;\r\n\tboundary="=_${id}:x?"` }),
  (id) => ({ boundary: `=${id}=`, field: `boundary*=us-ascii''%3D${id}%3D` }),
  (id) => ({ boundary: `a${id}b`, field: `boundary*0=a${id};\r\n boundary*1=b` }),
  (id) => ({ boundary: `----${id}`, field: `boundary="----${id}"` }),
  (id) => ({ boundary: `b${id} b`, field: `Boundary="b${id} b"; type="text/html"` }),
];

interface Made {
  /** Content fields, and the body without the line break at its end. */
  raw: string;
  parts: Buffer[];
}

const encodings: ((content: Buffer) => { field: string; body: string })[] = [
  (content) => ({
    field: 'Content-Transfer-Encoding: base64\r\n',
    body: content.toString('base64').replace(/.{76}/g, '$&\r\n'),
  }),
  (content) => ({
    field: 'Content-Transfer-Encoding: quoted-printable\r\n',
    body: content
      .toString('latin1')
      .replace(/[^ -<>-~]/g, (c) => `=${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
      .replace(/[ -]$/, (c) => `=${c.charCodeAt(0).toString(16).toUpperCase()}`)
      .replace(/(?:=..|[^=]){60}/g, '$&=\r\n'),
  }),
];

const TYPES = [
  'text/plain',
  'text/html; charset=utf-8',
  'image/png; name=a.png',
  'application/pdf',
  'text/csv',
];

function makeLeaf(random: Random, file: Buffer): Made {
  const length = random(200);
  const content = random(6) === 0 ? file : Buffer.from(Array.from({ length }, () => random(256)));
  const { field, body } = encodings[random(encodings.length)]?.(content) ?? { field: '', body: '' };
  return { raw: `Content-Type: ${TYPES[random(TYPES.length)]}\r\n${field}\r\n${body}`, parts: [content] };
}

function makeMail(random: Random, file: Buffer, level = 0): Made {
  const kind = random(8);
  if (level > 3 || (level > 0 && kind < 4)) return makeLeaf(random, file);
  if (level > 0 && kind === 4) {
    const inner = makeMail(random, file, 4);
    return {
      raw: `Content-Type: message/rfc822\r\n\r\nSubject: x\r\n${inner.raw}`,
      parts: [Buffer.alloc(0)],
    };
  }
  const { boundary, field } = boundaries[random(boundaries.length)]?.(random(1e9)) ?? {
    boundary: '',
    field: '',
  };
  const subtype = ['mixed', 'alternative', 'related', 'x-other'][random(4)];
  const made = Array.from({ length: 1 + random(4) }, () => makeMail(random, file, level + 1));
  const end = random(3) === 0 ? 'The end.\r\n' : '';
  const body = made.map(({ raw }) => `--${boundary}\r\n${raw}\r\n`).join('');
  return {
    raw: `Content-Type: multipart/${subtype}; ${field}\r\n\r\n${end}${body}--${boundary}--\r\n${end}`,
    parts: made.flatMap(({ parts }) => parts),
  };
}

const fileOf = (size: number) => Buffer.alloc(size, 'a file of these words, ');

const FROM = 'From: ada@example.com\r\nMIME-Version: 1.0\r\n';

async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'carillon-mails-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** @returns the differences from what Python finds */
function differencesFromPython(mails: ReadonlyMap<string, Buffer>): Promise<string[]> {
  return withFolder(async (folder) => {
    for (const [name, raw] of mails) await writeFile(join(folder, name), raw);
    const expected = await pythonParts(folder);
    expect(expected).toHaveLength(mails.size);
    return expected.flatMap((python) => {
      const difference = differenceOf(partsOf(python.name, mails.get(python.name) as Buffer), python);
      return difference === null ? [] : [`${python.name}: ${difference}`];
    });
  });
}

const shaOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** An attached mail has no content of its own here. */
const shas = ({ parts = [] }: MailParts) =>
  parts.map(({ sha, type }) => (type === 'message/rfc822' ? shaOf(Buffer.alloc(0)) : sha));

describe('mails of every structure', () => {
  it.each(SIZES)(
    'have the parts that were put into them, and that Python finds, with a file of %d bytes',
    async (size) => {
      const random = randomFrom(SEED);
      const count = Math.ceil(Math.min(MAILS, MAX_BYTES / size));
      const mails = new Map<string, Buffer>();
      for (let index = 0; index < count; index += 1) {
        const { raw, parts } = makeMail(random, fileOf(size));
        const name = `${index}.eml`;
        mails.set(name, Buffer.from(`${FROM}${raw}`, 'latin1'));
        expect([name, ...shas(partsOf(name, mails.get(name) as Buffer))]).toEqual([
          name,
          ...parts.map(shaOf),
        ]);
      }
      expect(await differencesFromPython(mails)).toEqual([]);
    },
    5 * MINUTE,
  );

  it('have the parts that Python finds if a program wrote them', async () => {
    const mails = new Map(mailClients.map((client) => [client as string, clientMail(client)]));
    expect(await differencesFromPython(mails)).toEqual([]);
  });
});

const tokens = [
  '\r\n', '\n', '\r', '\0', '--b\r\n', '--b--\r\n', '--', '\r\n\r\n', ';', '"', '(', ')', '=', 'boundary=', 'boundary="b"', "boundary*0*=us-ascii''b;",
  'Content-Type: multipart/mixed; boundary=b\r\n', 'Content-Type: message/rfc822\r\n\r\n', 'Content-Type: text/html\r\n',
  'Content-Type: multipart/digest\r\n\r\n', 'Content-Transfer-Encoding: base64\r\n', 'no field\r\n', '\xff\xfe', 'A'.repeat(2_000),
]; // prettier-ignore

function mutate(raw: string, random: Random): string {
  let text = raw;
  for (let changes = 1 + random(6); changes > 0; changes -= 1) {
    const at = random(text.length + 1);
    const removed = random(3) === 0 ? random(60) : 0;
    text = text.slice(0, at) + (tokens[random(tokens.length)] ?? '') + text.slice(at + removed);
  }
  return text;
}

const PLACE = 'U0laRQ==';
const FILE = /[QUJD\r\n]{1000,}/g;

/** What the parts of a mail are, with its file as a mark. */
function outline(raw: Buffer): unknown {
  const { problem, leaves } = scanStructure(raw);
  // A large file that is in a header makes it too long.
  if (problem !== null) return null;
  return {
    leaves: leaves.map(({ start, end, ...rest }) => ({
      ...rest,
      body: raw.toString('latin1', start, end).replace(FILE, PLACE),
    })),
  };
}

describe('broken mails', () => {
  it(
    'have the same parts at every size',
    () => {
      const random = randomFrom(SEED);
      const [small, ...larger] = SIZES.map((size) => 'QUJD'.repeat(size / 4).replace(/.{76}/g, '$&\r\n'));
      if (small === undefined) throw new Error('no size');
      for (let index = 0; index < MUTATIONS; index += 1) {
        const part = `Content-Type: application/pdf; name=a.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n${PLACE}\r\n`;
        const raw = mailKinds[random(mailKinds.length)]?.raw(part) ?? '';
        const at = raw.indexOf(PLACE);
        const [head, tail] = [mutate(raw.slice(0, at), random), mutate(raw.slice(at + PLACE.length), random)];
        const outlineWith = (file: string) => outline(Buffer.from(`${head}${file}${tail}`, 'latin1'));
        const expected = outlineWith(small);
        // The largest takes longest.
        const sizes = index % 20 === 0 ? larger : larger.slice(0, 1);
        for (const file of sizes) {
          const found = outlineWith(file);
          if (found !== null && expected !== null) expect([index, found]).toEqual([index, expected]);
        }
      }
    },
    5 * MINUTE,
  );
});
