// POST /messages takes files: each rule has its refusal, what is accepted is shown, downloaded and resent as it was sent.
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';
import { waitForLocks } from '../../support/lock-order.ts';

let home: string;
let api: TestApi;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'carillon-message-files-'));
  api = await startTestApi({ env: { CARILLON_HOME: home, ATTACHMENTS_MB: '1' } });
});
afterAll(async () => {
  await api.close();
  await rm(home, { recursive: true, force: true });
});

const email = { channel: 'email', to: 'ada@example.com', subject: 'Hello', html: '<p>See the file.</p>' };
const base64 = (text: string) => Buffer.from(text).toString('base64');
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const file = (text = 'hello', others: object = {}) => ({
  filename: 'a.txt',
  content: base64(text),
  ...others,
});
const post = (body: unknown, rest: Parameters<TestApi['request']>[2] = {}) =>
  api.request('POST', '/v1/my/messages', { body, ...rest });
const withFiles = (...attachments: object[]) => ({ ...email, attachments });
const get = (path: string, token = api.apiKey) => api.request('GET', `/v1/my/messages/${path}`, { token });

async function send(body: unknown, rest: Parameters<TestApi['request']>[2] = {}): Promise<TestBody> {
  const response = await post(body, rest);
  expect([response.status, response.body.validation_errors ?? {}]).toEqual([201, {}]);
  return response.body;
}

async function upload(text: string, token = api.apiKey): Promise<number> {
  const rawBody = new FormData();
  rawBody.set('file', new Blob([text], { type: 'text/plain' }), 'b.txt');
  const { status, body } = await api.request('POST', '/v1/my/attachments', { rawBody, token });
  expect(status).toBe(201);
  return Number(body.id);
}

const countOf = async (table: string) =>
  (await api.database.pool.query<{ n: number }>(`select count(*)::int as n from ${table}`)).rows[0]?.n;
const tables = [
  'messages',
  'letters',
  'message_attachments',
  'attachment_files',
  'send_queue',
  'idempotency_keys',
];
const counts = () => Promise.all(tables.map(countOf));
const blobs = async () => (await readdir(join(home, 'blobs'), { recursive: true }).catch(() => [])).length;

describe('the files of a message', () => {
  it('are refused by the name of the field, and nothing is written', async () => {
    const foreign = await upload('foreign', api.other.apiKey);
    const before = [...(await counts()), await blobs()];
    const cases: [object, string][] = [
      [withFiles({ filename: 'a.txt', path: 'https://example.com/a.txt' }), 'attachments.0.path'],
      [withFiles({ filename: 'a.txt', url: 'https://example.com/a.txt' }), 'attachments.0.url'],
      [withFiles({ filename: 'a.txt' }), 'attachments.0.content'],
      [withFiles(file('a', { attachment_id: 1 })), 'attachments.0.attachment_id'],
      [withFiles({ filename: 'a.txt', content: 'no base64' }), 'attachments.0.content'],
      [withFiles({ filename: 'a.txt', content: '' }), 'attachments.0.content'],
      [withFiles(file('a', { filename: 'run.exe' })), 'attachments.0.filename'],
      [withFiles(file('a', { content_type: 'multipart/mixed' })), 'attachments.0.content_type'],
      [withFiles(file('a', { content_id: 'x' }), file('b', { content_id: 'x' })), 'attachments.1.content_id'],
      [withFiles({ attachment_id: 999_999 }), 'attachments.0.attachment_id'],
      [withFiles({ attachment_id: foreign }), 'attachments.0.attachment_id'],
      [withFiles(...Array.from({ length: 21 }, () => file())), 'attachments'],
      [withFiles(file('x'.repeat(1024 * 1024 + 1))), 'attachments'],
      [{ channel: 'sms', to: '+14155552671', body: 'Hi', attachments: [file()] }, 'attachments'],
    ];
    for (const [body, field] of cases) {
      const response = await post(body, { headers: { 'Idempotency-Key': 'refused' } });
      expect([field, response.status, Object.keys(response.body.validation_errors ?? {})]).toEqual([
        field,
        422,
        expect.arrayContaining([field]),
      ]);
    }
    // The problems of files and of other fields that need the database come together.
    const both = await post({ ...withFiles({ attachment_id: 999_999 }), from: 'me@unknown.example' });
    expect(Object.keys(both.body.validation_errors ?? {}).sort()).toEqual([
      'attachments.0.attachment_id',
      'from',
    ]);
    expect([...(await counts()), await blobs()]).toEqual(before);
  });

  it('are shown with the message, and downloaded as they were sent', async () => {
    const id = await upload('uploaded');
    const given = withFiles(file('hello', { filename: 'naïve.html', content_type: 'text/html' }), {
      attachment_id: id,
      content_id: 'logo',
    });
    const sent = await send({ ...given, html: '<img src="cid:logo">' });
    const files = [
      {
        ...{ n: 1, filename: 'naïve.html', content_type: 'text/html', size: 5, sha256: sha256('hello') },
        ...{ content_id: null, disposition: 'attachment' },
      },
      {
        ...{
          n: 2,
          filename: 'b.txt',
          content_type: 'text/plain; charset=utf-8',
          size: 8,
          sha256: sha256('uploaded'),
        },
        ...{ content_id: 'logo', disposition: 'inline' },
      },
    ];
    expect(sent).toMatchObject({ letter_id: sent.id, status: 'queued', attachments: files });
    expect([sent.recipients, sent.warnings]).toEqual([undefined, undefined]);
    const { body: shown } = await get(String(sent.id));
    expect(shown).toMatchObject({ letter_id: sent.id, html: '<img src="cid:logo">', attachments: files });
    const download = await get(`${String(sent.id)}/attachments/1`);
    expect([download.status, download.text]).toEqual([200, 'hello']);
    // A browser must not run what a client attached.
    expect(download.headers.get('content-type')).toBe('application/octet-stream');
    expect(download.headers.get('content-disposition')).toMatch(/^attachment; filename=/);
    expect(download.headers.get('content-security-policy')).toContain('sandbox');
    expect(download.headers.get('etag')).toBe(`"${sha256('hello')}"`);
    for (const path of [`${String(sent.id)}/attachments/3`, `${String(sent.id)}/attachments/99999`]) {
      expect((await get(path)).status).toBe(404);
    }
    expect((await get(`${String(sent.id)}/attachments/1`, api.other.apiKey)).status).toBe(404);
    const { list } = await api.request('GET', '/v1/my/messages?limit=1');
    expect(list).toEqual([expect.objectContaining({ id: sent.id, letter_id: sent.id })]);
    expect(list[0]).not.toHaveProperty('attachments');
  });

  it('are named by warnings if the HTML and they do not fit, in replays too', async () => {
    const body = { ...withFiles(file('a', { content_id: 'one' })), html: '<img src="cid:two">' };
    const headers = { 'Idempotency-Key': 'warned' };
    const [first, again] = [await send(body, { headers }), await send(body, { headers })];
    expect(first.warnings).toMatchObject([
      { field: 'html', code: 'unknown_cid', severity: 'warning' },
      { field: 'attachments.0.content_id', code: 'unused_content_id', severity: 'warning' },
    ]);
    expect(again).toEqual(first);
    const html = Array.from({ length: 1_000 }, (_, n) => `<img src="cid:${n}">`).join('');
    const { warnings } = await send({ ...withFiles(file()), html });
    expect([warnings].flat()).toHaveLength(21);
    expect([warnings].flat().at(-1)).toMatchObject({ message: 'shows 980 further images that are no files' });
  });

  it('are part of the payload by their hash, and a replay stores none', async () => {
    const headers = { 'Idempotency-Key': 'hashed' };
    const content = base64('the same bytes, in two forms of base64'.repeat(3));
    const first = await send(withFiles({ filename: 'a.txt', content }), { headers });
    const before = [...(await counts()), await blobs()];
    const folded = content.replace(/.{76}/g, '$&\r\n');
    const replay = await post(withFiles({ filename: 'a.txt', content: folded }), { headers });
    expect([replay.status, replay.body.id, replay.headers.get('idempotent-replayed')]).toEqual([
      201,
      first.id,
      'true',
    ]);
    for (const other of [
      withFiles(file('other')),
      withFiles(file('a', { content, filename: 'b.txt' })),
      email,
    ]) {
      const conflict = await post(other, { headers });
      expect([conflict.status, conflict.body.code]).toEqual([409, 'idempotency_conflict']);
    }
    expect([...(await counts()), await blobs()]).toEqual(before);
  });

  it('are stored once for equal bytes', async () => {
    const before = (await countOf('attachment_files')) ?? 0;
    await send(withFiles(file('twice'), file('twice', { filename: 'b.txt' })));
    await send(withFiles(file('twice')));
    expect(await countOf('attachment_files')).toBe(before + 1);
  });

  it('are let go if the message is refused after they were stored', async () => {
    const { pool } = api.database;
    const due = async (text: string) =>
      (
        await pool.query<{ due: boolean }>(
          'select kept_until <= now() as due from attachment_files where sha256 = $1',
          [Buffer.from(sha256(text), 'hex')],
        )
      ).rows;
    const cap = (most: number | null) =>
      pool.query('update accounts set sandbox_monthly_cap = $2 where id = $1', [api.accountId, most]);
    await send(withFiles(file('used')));
    await cap(0);
    const refused = await post(withFiles(file('used'), file('unused')));
    expect([refused.status, refused.body.code]).toEqual([422, 'sandbox_limit_reached']);
    // Upkeep removes the second file, and finds that a message has the first.
    expect([await due('used'), await due('unused')]).toEqual([[{ due: true }], [{ due: true }]]);
    await cap(null);
  });

  it('are stored again if they are removed before the message names them', async () => {
    await send(withFiles(file('lost')));
    const { pool } = api.database;
    await pool.query('delete from message_attachments');
    // Looks like an upkeep that removes the file as soon as it is stored, once.
    await pool.query(`create sequence losses;
      create function lose() returns trigger language plpgsql as $$ begin
        if nextval('losses') = 1 then delete from attachment_files where sha256 = new.sha256; end if; return null; end $$;
      create trigger lose after insert or update on attachment_files for each row execute function lose()`);
    await pool.query('delete from attachment_files where sha256 = $1', [Buffer.from(sha256('lost'), 'hex')]);
    const sent = await send(withFiles(file('lost')));
    expect((await get(`${String(sent.id)}/attachments/1`)).text).toBe('lost');
    await pool.query(`create or replace function lose() returns trigger language plpgsql as $$ begin
      delete from attachment_files where sha256 = new.sha256; return null; end $$`);
    const lost = await post(withFiles(file('lost again and again')));
    await pool.query('drop trigger lose on attachment_files');
    expect([lost.status, lost.body.code]).toEqual([503, 'unavailable']);
  });

  it('are resent without their bytes', async () => {
    const first = await send({
      ...withFiles(file('resent')),
      headers: { 'X-Order': '1' },
      reply_to: ['a@x.test', 'b@x.test'],
    });
    const files = await countOf('attachment_files');
    const { status, body } = await api.request('POST', `/v1/my/messages/${String(first.id)}/resend`);
    expect([status, body.attachments]).toEqual([201, first.attachments]);
    const { body: shown } = await get(String(body.id));
    expect(shown).toMatchObject({
      letter_id: body.id,
      html: email.html,
      headers: { 'X-Order': '1' },
      reply_to: 'a@x.test, b@x.test',
    });
    expect((await get(`${String(body.id)}/attachments/1`)).text).toBe('resent');
    expect(await countOf('attachment_files')).toBe(files);
    await api.database.pool.query('delete from message_attachments');
    await api.database.pool.query('delete from letters where id = $1', [first.id]);
    const gone = await api.request('POST', `/v1/my/messages/${String(first.id)}/resend`);
    expect([gone.status, Object.keys(gone.body.validation_errors ?? {})]).toEqual([422, ['id']]);
  });

  it('of a test key are checked and shown, but not kept', async () => {
    const token = api.testApiKey;
    const before = [await countOf('attachment_files'), await blobs()];
    const sent = await send(withFiles(file('tested')), { token });
    expect(sent).toMatchObject({
      status: 'delivered',
      test: true,
      attachments: [{ size: 6, sha256: sha256('tested') }],
    });
    expect((await get(`${String(sent.id)}/attachments/1`, token)).status).toBe(404);
    const upload = await post(withFiles({ attachment_id: 1 }), { token });
    expect([upload.status, upload.body.code]).toEqual([403, 'test_key']);
    const resent = await api.request('POST', `/v1/my/messages/${String(sent.id)}/resend`, { token });
    expect([resent.status, resent.body.attachments]).toEqual([201, sent.attachments]);
    expect([await countOf('attachment_files'), await blobs()]).toEqual(before);
  });

  it('may be larger together than other bodies, up to 12 MB', async () => {
    const tooLarge = await post(withFiles(file('x'.repeat(6 * 1024 * 1024))));
    expect([tooLarge.status, Object.keys(tooLarge.body.validation_errors ?? {})]).toEqual([
      422,
      ['attachments'],
    ]);
    expect(String(tooLarge.body.validation_errors?.attachments)).toContain('POST /attachments');
    expect((await post(withFiles(file('x'.repeat(10 * 1024 * 1024))))).status).toBe(413);
  });
});

it('resends nothing without its files, if they are erased meanwhile', async () => {
  const { pool } = api.database;
  const sent = await send(withFiles(file('erased')));
  const before = await countOf('messages');
  const resending = await inTransaction(pool, async (trx) => {
    await trx.query('lock table message_attachments in access exclusive mode');
    const answer = api.request('POST', `/v1/my/messages/${String(sent.id)}/resend`);
    await waitForLocks(pool, () => 1);
    await trx.query('delete from message_attachments where message_id = $1', [sent.id]);
    await trx.query('delete from letters where id = $1', [sent.id]);
    return { answer };
  });
  const { status, body } = await resending.answer;
  expect([status, body.validation_errors]).toEqual([422, { id: ['has no content any more'] }]);
  expect(await countOf('messages')).toBe(before);
});
