// The console is served at the service's own name only, with a nonce for each response and files that never change.
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';

const HOST = 'app.carillon.test';
const SCRIPT = 'console.log("hello");';
const PAGE =
  '<!doctype html><script nonce="__NONCE__" src="/console/assets/index-Ab_1-xyz.js"></script><i nonce="__NONCE__">';
const FILES: Record<string, string | Buffer> = {
  'index.html': PAGE,
  'licences.md': 'The licences.',
  '.stamp': 'secret',
  'assets/index-Ab_1-xyz.js': SCRIPT,
  'assets/index-Ab_1-xyz.js.br': brotliCompressSync(SCRIPT),
  'assets/index-Ab_1-xyz.js.gz': gzipSync(SCRIPT),
  'assets/index-12345678.css': 'body { margin: 0 }',
};

let api: TestApi;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-bundle-'));
  api = await startTestApi({
    env: { PUBLIC_URL: `https://${HOST}` },
    consoleFolder: join(folder, 'dist'),
  });
});
afterAll(async () => {
  await api.close();
  await rm(folder, { recursive: true, force: true });
});

interface Answer {
  status: number | undefined;
  headers: http.IncomingHttpHeaders;
  body: Buffer;
  text: string;
}

/** Unlike fetch, sends the path as it is, and any Host. */
async function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  const request = http.request({ port: api.port, method, path, headers: { Host: HOST, ...headers } }).end();
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  const body = await buffer(response);
  return { status: response.statusCode, headers: response.headers, body, text: body.toString() };
}

const codeOf = ({ text }: Answer) => (JSON.parse(text) as { code: string }).code;

it('says how to build it while there is no bundle, and then finds it', async () => {
  const missing = await ask('/console');
  expect(missing.status).toBe(503);
  expect(missing.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(missing.text).toContain('npm run console');
  expect(missing.text).not.toContain('<script');
  expect((await ask('/console/assets/index-Ab_1-xyz.js')).status).toBe(404);

  await mkdir(join(folder, 'dist/assets'), { recursive: true });
  await Promise.all(
    Object.entries(FILES).map(([name, content]) => writeFile(join(folder, 'dist', name), content)),
  );
  expect((await ask('/console')).status).toBe(200);
});

describe('the page', () => {
  const paths = [
    '/console',
    '/console/',
    '/console/b/1/messages?status=held',
    '/console/b/1/messages/7',
    '/console/%ff',
    '/console/assetsx',
  ];
  it.each(paths)('is at %s', async (path) => {
    const { status, headers, text } = await ask(path);
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(text).toMatch(/^<!doctype html><script nonce="[\w+/]{24}"/);
  });

  it('has a new nonce in each response, which its policy names', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask('/console')));
    const nonces = answers.map(({ headers, text }) => {
      const [first = '', second] = [...text.matchAll(/nonce="([^"]*)"/g)].map(([, nonce]) => nonce);
      expect(second).toBe(first);
      expect(text).not.toContain('__NONCE__');
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain(`script-src 'self' 'nonce-${first}';`);
      expect(policy).toContain(`style-src 'self' 'nonce-${first}';`);
      return first;
    });
    expect(new Set(nonces).size).toBe(20);
  });

  it('is not stored, not framed, and allows nothing of another host', async () => {
    const { headers } = await ask('/console');
    const policy = String(headers['content-security-policy']);
    for (const part of [
      "default-src 'none'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'self'",
    ]) {
      expect(policy.split('; ')).toContain(part);
    }
    expect(policy).not.toMatch(/https?:|\*|unsafe/);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'cross-origin-opener-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'strict-transport-security': expect.stringContaining('max-age='),
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    });
  });

  it('has the same headers without a body for HEAD', async () => {
    const { status, headers, body } = await ask('/console/b/1', {}, 'HEAD');
    expect([status, headers['content-type'], body.length]).toEqual([200, 'text/html; charset=utf-8', 0]);
    expect(headers['content-security-policy']).toContain("'nonce-");
  });

  it('takes no other method', async () => {
    for (const path of ['/console', '/console/b/1']) {
      const answer = await ask(path, {}, 'POST');
      expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
    }
  });
});

describe('a file', () => {
  const SCRIPT_PATH = '/console/assets/index-Ab_1-xyz.js';

  it('is kept for ever, because its name has a hash of its content', async () => {
    const { headers, text } = await ask(SCRIPT_PATH);
    expect(text).toBe(SCRIPT);
    expect(headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': 'text/javascript; charset=utf-8',
      'x-content-type-options': 'nosniff',
    });
    const notices = await ask('/console/licences.md');
    expect([notices.text, notices.headers['cache-control']]).toEqual([
      'The licences.',
      'public, max-age=300',
    ]);
  });

  it.each([
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip, deflate', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['identity', undefined],
    ['zstd', undefined],
  ])('is sent to a client that accepts %s as %s', async (accepted, encoding) => {
    const { headers, body } = await ask(SCRIPT_PATH, { 'Accept-Encoding': accepted });
    expect([headers['content-encoding'], headers.vary]).toEqual([encoding, 'Accept-Encoding']);
    const unpack: Record<string, (bytes: Buffer) => Buffer> = { br: brotliDecompressSync, gzip: gunzipSync };
    expect((unpack[encoding ?? '']?.(body) ?? body).toString()).toBe(SCRIPT);
    expect(headers['content-length']).toBe(String(body.length));
  });

  it('is sent as it is if there is no compressed copy', async () => {
    const answer = await ask('/console/assets/index-12345678.css', { 'Accept-Encoding': 'br' });
    expect(answer.headers['content-encoding']).toBeUndefined();
    expect([answer.headers['content-type'], answer.text]).toEqual([
      'text/css; charset=utf-8',
      'body { margin: 0 }',
    ]);
  });

  it.each([
    '/console/assets',
    '/console/assets/',
    '/console/assets/missing-12345678.js',
    '/console/assets/index-Ab_1-xyz.js.br',
    '/console/assets/sub/index-Ab_1-xyz.js',
    '/console/assets/../index.html',
    '/console/assets/../.stamp',
    '/console/assets/%2e%2e/index.html',
    '/console/assets/..%2f.stamp',
    '/console/assets/%00',
    '/console/assets/%ff',
    '/console/assets/constructor',
  ])('that is missing, such as %s, is a 404 and never the page', async (path) => {
    const answer = await ask(path);
    expect([path, answer.status, codeOf(answer)]).toEqual([path, 404, 'not_found']);
    expect(answer.headers['cache-control']).toBe('no-store');
  });
});

describe('at another name', () => {
  it.each(['links.customer.test', `${HOST}.evil.test`, `127.0.0.1:80`, `${HOST}:8443`])(
    '%s, there is no console',
    async (Host) => {
      for (const path of ['/console', '/console/b/1', '/console/assets/index-Ab_1-xyz.js']) {
        const answer = await ask(path, { Host });
        expect([path, answer.status, codeOf(answer)]).toEqual([path, 404, 'not_found']);
      }
    },
  );

  it('a browser at the root is led to the description, and to the console at our own', async () => {
    const lead = async (Host: string) => (await ask('/', { Host, Accept: 'text/html' })).headers.location;
    expect([await lead('links.customer.test'), await lead(HOST)]).toEqual(['./docs', './console']);
  });
});

describe('on this machine', () => {
  let local: TestApi;
  beforeAll(async () => {
    local = await startTestApi({ env: { PUBLIC_URL: 'http://127.0.0.1:3000' }, consoleFolder: folder });
  });
  afterAll(() => local.close());

  it('a browser that names this machine otherwise is led to the name where its cookies count', async () => {
    const lead = async (Host: string, path: string) => {
      const request = http.request({ port: local.port, path, headers: { Host } }).end();
      const [response] = (await once(request, 'response')) as [http.IncomingMessage];
      response.resume();
      return [response.statusCode, response.headers.location];
    };
    expect(await lead('localhost:3000', '/console/b/1?status=held')).toEqual([
      302,
      'http://127.0.0.1:3000/console/b/1?status=held',
    ]);
    expect(await lead('localhost:3000', '/console/assets/index-Ab_1-xyz.js')).toEqual([404, undefined]);
    expect(await lead('links.customer.test', '/console')).toEqual([404, undefined]);
  });
});
