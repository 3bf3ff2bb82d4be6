// An upload of up to 5 MB gets a signed id, and Carillon serves it so that browsers run no script in it.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestRequest } from '../../support/api.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
const PDF = Buffer.from('%PDF-1.7\n1 0 obj\n<<>>\nendobj\n');
const HTML = Buffer.from('<!doctype html><script>alert(1)</script>');
const SVG = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>');
const MAX = 5 * 1024 * 1024;

let api: TestApi;
let home: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'carillon-home-'));
  api = await startTestApi({ env: { CARILLON_HOME: home, PUBLIC_URL: 'https://mail.example.com/' } });
});
afterAll(async () => {
  await api.close();
  await rm(home, { recursive: true, force: true });
});

type Part = [field: string, bytes: Buffer, filename: string, contentType?: string];

function form(...parts: Part[]): FormData {
  const data = new FormData();
  for (const [field, bytes, filename, type] of parts) {
    data.append(field, new File([new Uint8Array(bytes)], filename, type === undefined ? {} : { type }));
  }
  return data;
}

const upload = (rawBody: FormData, options: TestRequest = {}) =>
  api.request('POST', '/v1/my/uploads', { rawBody, ...options });

async function fetchFile(signedId: unknown): Promise<{ response: Response; bytes: Buffer }> {
  const response = await fetch(`${api.baseUrl}/uploads/${String(signedId)}`);
  return { response, bytes: Buffer.from(await response.arrayBuffer()) };
}

async function counts(): Promise<{ rows: number; files: number }> {
  const { rows } = await api.database.pool.query<{ count: number }>('select count(*) from uploads');
  const files = await readdir(join(home, 'blobs'), { recursive: true, withFileTypes: true }).catch(() => []);
  return { rows: rows[0]?.count ?? 0, files: files.filter((file) => file.isFile()).length };
}

describe('POST /v1/my/uploads without a key', () => {
  it('responds with 401 and stores nothing', async () => {
    const before = await counts();
    const { status, body } = await upload(form(['file', PNG, 'logo.png']), { token: null });
    expect([status, body.code]).toEqual([401, 'unauthorized']);
    expect(await counts()).toEqual(before);
  });
});

describe('POST /v1/my/uploads', () => {
  it('returns the signed id, the URL, the name, the detected type and the size', async () => {
    const { status, body } = await upload(form(['file', PNG, 'logo.png', 'text/html']));
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(Number),
      signed_id: expect.stringMatching(/^[\w-]+$/),
      url: `https://mail.example.com/uploads/${String(body.signed_id)}`,
      filename: 'logo.png',
      content_type: 'image/png',
      size: PNG.length,
      kept: false,
      created_at: expect.stringMatching(/Z$/),
    });
  });

  it('accepts a file of exactly 5 MB', async () => {
    const { status, body } = await upload(form(['file', Buffer.alloc(MAX, 'a'), 'big.txt']));
    expect([status, body.size, body.content_type]).toEqual([201, MAX, 'text/plain']);
  });

  it('responds with 413 to one more byte, and stores nothing', async () => {
    const before = await counts();
    const { status, body } = await upload(form(['file', Buffer.alloc(MAX + 1), 'big.bin']));
    expect([status, body.code]).toEqual([413, 'payload_too_large']);
    expect(await counts()).toEqual(before);
  });

  it.each<[string, FormData, string]>([
    ['no file', new FormData(), 'file'],
    ['the file in another field', form(['logo', PNG, 'logo.png']), 'logo'],
    ['two files', form(['file', PNG, 'a.png'], ['file', PNG, 'b.png']), 'file'],
    ['a second file in another field', form(['file', PNG, 'a.png'], ['other', PNG, 'b.png']), 'other'],
    ['an empty file', form(['file', Buffer.alloc(0), 'empty.png']), 'file'],
    ['text instead of a file', textForm('file', 'hello'), 'file'],
    ['an unknown text field', textForm('purpose', 'logo', form(['file', PNG, 'a.png'])), 'purpose'],
  ])('responds with 422 to %s, names the field and stores nothing', async (_, data, field) => {
    const before = await counts();
    const { status, body } = await upload(data);
    expect([status, body.code]).toEqual([422, 'validation_error']);
    expect(Object.keys(body.validation_errors ?? {})).toEqual([field]);
    expect(await counts()).toEqual(before);
  });

  it.each([
    ['JSON', 'application/json', '{}', 415, 'unsupported_media_type'],
    ['a form without a boundary', 'multipart/form-data', 'x', 415, 'unsupported_media_type'],
    ['a truncated form', 'multipart/form-data; boundary=b', '--b\r\nContent-Disp', 400, 'malformed_json'],
  ])('refuses %s', async (_, type, rawBody, status, code) => {
    const answer = await api.request('POST', '/v1/my/uploads', {
      rawBody,
      headers: { 'Content-Type': type },
    });
    expect([answer.status, answer.body.code]).toEqual([status, code]);
  });
});

function textForm(field: string, value: string, data = new FormData()): FormData {
  data.append(field, value);
  return data;
}

describe('POST /v1/my/uploads with an Idempotency-Key', () => {
  it('creates one upload, and replays it for a repeated request', async () => {
    const headers = { 'Idempotency-Key': 'logo-1' };
    const first = await upload(form(['file', PNG, 'logo.png']), { headers });
    const before = await counts();
    const second = await upload(form(['file', PNG, 'logo.png']), { headers });
    expect(second.status).toBe(201);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(second.body).toEqual(first.body);
    expect(await counts()).toEqual(before);
  });

  it('responds with 409 to another file, and does not store it', async () => {
    const headers = { 'Idempotency-Key': 'logo-2' };
    await upload(form(['file', PNG, 'logo.png']), { headers });
    const before = await counts();
    const { status, body } = await upload(form(['file', GIF, 'logo.png']), { headers });
    expect([status, body.code]).toEqual([409, 'idempotency_conflict']);
    expect(await counts()).toEqual(before);
  });

  it('creates one upload for simultaneous requests', async () => {
    const before = await counts();
    const headers = { 'Idempotency-Key': 'logo-3' };
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => upload(form(['file', PNG, 'logo.png']), { headers })),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await counts()).toEqual({ rows: before.rows + 1, files: before.files + 1 });
  });
});

describe('GET /uploads/:signed_id', () => {
  it.each([
    ['PNG', PNG, 'a.png', 'image/png'],
    ['GIF', GIF, 'a.gif', 'image/gif'],
  ])('lets browsers display a %s, without authentication', async (_, bytes, filename, type) => {
    const { body } = await upload(form(['file', bytes, filename]));
    const { response, bytes: got } = await fetchFile(body.signed_id);
    expect(response.status).toBe(200);
    expect(got).toEqual(bytes);
    expect(response.headers.get('content-type')).toBe(type);
    expect(response.headers.get('content-disposition')).toBe(`inline; filename=${filename}`);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  });

  it.each([
    ['a PDF', PDF, 'image/png'],
    ['HTML', HTML, 'text/html'],
    ['HTML that calls itself an image', HTML, 'image/png'],
    ['SVG', SVG, 'image/svg+xml'],
    ['a file of unknown type', Buffer.from([1, 2, 3, 0xff]), 'image/jpeg'],
  ])('offers %s for download, and lets no script run', async (_, bytes, claimed) => {
    const { body } = await upload(form(['file', bytes, 'a.png', claimed]));
    const { response, bytes: got } = await fetchFile(body.signed_id);
    expect(got).toEqual(bytes);
    expect(response.headers.get('content-disposition')).toBe('attachment; filename=a.png');
    expect(response.headers.get('content-type')).not.toMatch(/html|svg|image/);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
  });

  it('responds to HEAD without the content', async () => {
    const { body } = await upload(form(['file', PNG, 'a.png']));
    const response = await fetch(`${api.baseUrl}/uploads/${String(body.signed_id)}`, { method: 'HEAD' });
    expect([response.status, response.headers.get('content-length')]).toEqual([200, String(PNG.length)]);
    expect(await response.text()).toBe('');
  });

  it('responds with 404 to a forged id, and to an id whose content is gone', async () => {
    const { body } = await upload(form(['file', PNG, 'a.png']));
    const signedId = String(body.signed_id);
    const forged = signedId.slice(0, -5) + (signedId.endsWith('AAAAA') ? 'BBBBB' : 'AAAAA');
    for (const id of [forged, '1', 'x'.repeat(100), '%2e%2e%2f']) {
      expect((await fetchFile(id)).response.status).toBe(404);
    }
    await rm(join(home, 'blobs'), { recursive: true });
    expect((await fetchFile(signedId)).response.status).toBe(404);
  });
});
