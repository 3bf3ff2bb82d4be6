// A file is stored while it arrives, with bounded memory, and is removed if its request fails.
import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { request as httpRequest, type ClientRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { AppError, invalid } from '../../../src/errors.ts';
import { createFileSink } from '../../../src/platform/http/file-sink.ts';
import { defineRoute, type RouteDefinition } from '../../../src/platform/http/route.ts';
import { kindOfName } from '../../../src/platform/storage/blob-store.ts';
import { createHomeStore } from '../../../src/platform/storage/local-disk.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';

const MAX_BYTES = 200_000;
const MEGABYTE = 1024 * 1024;
const PATH = '/v1/my/probe/files';

let home: string;
let api: TestApi;
const children: ChildProcess[] = [];

function probe(folder: string): RouteDefinition {
  const sink = createFileSink({
    store: createHomeStore(folder),
    kind: 'imports',
    maxAtOnce: 2,
    admit(_tenant, bytes) {
      if (bytes === 150_150) throw new AppError('conflict', 'the quota is used up');
      return Promise.resolve();
    },
  });
  return defineRoute({
    method: 'POST',
    path: PATH,
    operationId: 'probeFile',
    tag: 'Probe',
    summary: 'Store a file',
    auth: 'brand',
    testKeys: 'refused',
    idempotency: 'none',
    query: z.strictObject({ verbose: z.literal('true').optional() }),
    body: z.strictObject({ before: z.string().optional(), after: z.string().max(5).optional() }),
    multipart: { file: 'file', maxFileBytes: MAX_BYTES, sink },
    responses: { 200: { description: 'The result', schema: null } },
    handler({ stored, file, body }) {
      if (body.before === 'refuse') throw invalid({ before: ['is refused by the handler'] });
      if (body.before !== 'drop') stored?.keep();
      return { status: 200, body: { stored, file, body } };
    },
  });
}

/** The names of all files of the account 7 or of the test account, drafts included. */
async function files(): Promise<string[]> {
  const all = await readdir(join(home, 'blobs'), { recursive: true, withFileTypes: true }).catch(() => []);
  return all.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

function form(parts: [name: string, value: string | Buffer<ArrayBuffer>][]): FormData {
  const data = new FormData();
  for (const [name, value] of parts) {
    if (typeof value === 'string') data.append(name, value);
    else data.append(name, new Blob([value], { type: 'text/csv' }), 'people.csv');
  }
  return data;
}
const post = (parts: [string, string | Buffer<ArrayBuffer>][], query = '') =>
  api.request('POST', `${PATH}${query}`, { rawBody: form(parts) });

const HEAD = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n';
const TYPE = { 'Content-Type': 'multipart/form-data; boundary=x' };

/** Begins a request that the test goes on with. */
function begin(port: number, path: string, headers: Record<string, string | number> = {}): ClientRequest {
  const all = { ...TYPE, Authorization: `Bearer ${api.apiKey}`, ...headers };
  const sent = httpRequest({ host: '127.0.0.1', port, path, method: 'POST', headers: all });
  sent.on('error', () => undefined);
  return sent;
}

function answerTo(sent: ClientRequest): Promise<{ status: number; body: Record<string, unknown> }> {
  return new Promise((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as Record<string, unknown> }),
      );
    });
  });
}

async function write(sent: ClientRequest, bytes: Buffer): Promise<void> {
  if (!sent.write(bytes)) await new Promise((resolve) => sent.once('drain', resolve));
}

/** Starts a process of its own, so that its memory is not that of the test, and it can be killed. */
async function startFileServer(): Promise<{ child: ChildProcess; port: number }> {
  const script = join(import.meta.dirname, '../../support/file-server.ts');
  const child = spawn(process.execPath, ['--no-warnings', script, home], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  for await (const line of createInterface({ input: child.stdout })) {
    return { child, port: Number(line.replace('port ', '')) };
  }
  throw new Error('the file server ended');
}

async function sendMegabytes(port: number, megabytes: number) {
  const sent = begin(port, '/');
  const answer = answerTo(sent);
  const hash = createHash('sha256');
  sent.write(HEAD);
  for (let piece = 0; piece < megabytes; piece += 1) {
    const bytes = Buffer.alloc(MEGABYTE, `piece ${piece}\n`);
    hash.update(bytes);
    await write(sent, bytes);
  }
  sent.end('\r\n--x--\r\n');
  const { body } = await answer;
  return { body, sha256: hash.digest('hex') };
}

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'carillon-home-'));
  api = await startTestApi({ extraRoutes: [probe(home)] });
}, 60_000);
afterEach(() => rm(join(home, 'blobs'), { recursive: true, force: true }));
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await api.close();
  await rm(home, { recursive: true, force: true });
});

describe('a file that is stored while it arrives', () => {
  it('is stored under its key, with fields before and after it', async () => {
    const content = Buffer.from('email\nada@example.com\n');
    const { status, body } = await post([
      ['before', 'one'],
      ['file', content],
      ['after', 'two'],
    ]);
    expect(status).toBe(200);
    expect(body).toEqual({
      file: null,
      body: { before: 'one', after: 'two' },
      stored: {
        filename: 'people.csv',
        contentType: 'text/csv',
        size: content.length,
        sha256: createHash('sha256').update(content).digest('hex'),
        key: expect.stringMatching(new RegExp(`^imports/${api.accountId}/`)),
      },
    });
    const key = String(body.stored?.key);
    expect(await files()).toEqual([key.split('/').at(-1)]);
    const blob = await createHomeStore(home).open(key);
    expect((await blob?.stream.toArray())?.join('')).toBe(content.toString());
  });

  it.each([
    [
      'a field after it is invalid',
      [
        ['file', Buffer.from('x')],
        ['after', 'too long'],
      ],
      422,
    ],
    [
      'a field is unknown',
      [
        ['file', Buffer.from('x')],
        ['extra', '1'],
      ],
      422,
    ],
    [
      'the handler refuses',
      [
        ['before', 'refuse'],
        ['file', Buffer.from('x')],
      ],
      422,
    ],
    [
      'the handler does not keep it',
      [
        ['before', 'drop'],
        ['file', Buffer.from('x')],
      ],
      200,
    ],
    [
      'a second file follows',
      [
        ['file', Buffer.from('x')],
        ['file', Buffer.from('y')],
      ],
      422,
    ],
    [
      'another file field follows',
      [
        ['file', Buffer.from('x')],
        ['other', Buffer.from('y')],
      ],
      422,
    ],
    [
      'a field is too large',
      [
        ['file', Buffer.from('x')],
        ['after', 'x'.repeat(70_000)],
      ],
      413,
    ],
    ['it is too large', [['file', Buffer.alloc(MAX_BYTES + 1)]], 413],
    ['there is none', [['before', 'one']], 422],
  ] as [string, [string, string | Buffer<ArrayBuffer>][], number][])(
    'is removed if %s',
    async (_case, parts, status) => {
      expect((await post(parts)).status).toBe(status);
      expect(await files()).toEqual([]);
    },
  );

  it('is stored if it has exactly the largest size', async () => {
    expect((await post([['file', Buffer.alloc(MAX_BYTES)]])).status).toBe(200);
  });

  it('is refused at once when more arrives than allowed, while the client still sends', async () => {
    const sent = begin(api.port, PATH, { 'Transfer-Encoding': 'chunked' });
    const answer = answerTo(sent);
    sent.write(HEAD);
    sent.write(Buffer.alloc(MAX_BYTES + 1_000));
    expect((await answer).status).toBe(413);
    sent.destroy();
    expect(await files()).toEqual([]);
  });

  it.each([
    ['no key', PATH, { Authorization: '' }, 401],
    ['a type that is no form', PATH, { 'Content-Type': 'text/csv' }, 415],
    ['a length over the limit', PATH, { 'Content-Length': 10_000_000 }, 413],
    ['a length that admission refuses', PATH, { 'Content-Length': 150_150 }, 409],
    ['a bad query', `${PATH}?verbos=true`, {}, 422],
  ])('is not read for a request with %s', async (_case, path, headers, status) => {
    const sent = begin(api.port, path, headers);
    const answer = answerTo(sent);
    sent.flushHeaders();
    expect((await answer).status).toBe(status);
    sent.destroy();
    expect(await files()).toEqual([]);
  });

  it('is removed if the client disconnects', async () => {
    const sent = begin(api.port, PATH, { 'Transfer-Encoding': 'chunked' });
    sent.write(HEAD);
    sent.write(Buffer.alloc(70_000));
    await eventually(async () => expect(await files()).toHaveLength(1));
    sent.destroy();
    await eventually(async () => expect(await files()).toEqual([]));
  });

  it('is removed if the form ends inside it', async () => {
    const sent = begin(api.port, PATH, { 'Transfer-Encoding': 'chunked' });
    const answer = answerTo(sent);
    sent.end(`${HEAD}half`);
    const { status, body } = await answer;
    expect([status, body.code]).toEqual([400, 'malformed_json']);
    expect(await files()).toEqual([]);
  });

  it('is refused if the account is already sending as many files as it may', async () => {
    const open = [begin(api.port, PATH), begin(api.port, PATH)];
    for (const sent of open) sent.write(HEAD + 'x');
    await eventually(async () => expect(await files()).toHaveLength(2));
    const { status, headers } = await post([['file', Buffer.from('x')]]);
    expect([status, headers.get('retry-after')]).toEqual([429, '10']);
    for (const sent of open) sent.destroy();
    await eventually(async () => expect((await post([['file', Buffer.from('x')]])).status).toBe(200));
  });
});

describe('a process that stores files', () => {
  it('stores 200 MB with less than 60 MB more memory than an earlier file of 40 MB', async () => {
    const { port } = await startFileServer();
    const first = await sendMegabytes(port, 40);
    const { body, sha256 } = await sendMegabytes(port, 200);
    expect([body.size, body.sha256]).toEqual([200 * MEGABYTE, sha256]);
    expect(Number(body.peak) - Number(first.body.peak)).toBeLessThan(60 * MEGABYTE);
  }, 60_000);

  it('leaves only a draft if it is killed in the middle', async () => {
    const { child, port } = await startFileServer();
    const sent = begin(port, '/');
    sent.write(HEAD);
    await write(sent, Buffer.alloc(MEGABYTE));
    await eventually(async () => expect(await files()).toHaveLength(1));
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    const [name = ''] = await files();
    expect(kindOfName(`imports/7/${name}`)).toBe('draft');
    const store = createHomeStore(home);
    const removed: number[] = [];
    for await (const { drafts } of store.list('imports', 10)) {
      removed.push(await store.removeOlder(drafts, new Date(Date.now() + 86_400_000)));
    }
    expect(removed).toEqual([1]);
    expect(await files()).toEqual([]);
  }, 60_000);
});
