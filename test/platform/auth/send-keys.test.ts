// A send-only key sends and reads what it sent, and nothing else; a process that knows no such keys refuses it.
import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { json } from 'node:stream/consumers';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateKey, parseKey } from '../../../src/platform/auth/api-key.ts';
import { createFindKey } from '../../../src/platform/auth/find-key.ts';
import { createKeyLookup } from '../../../src/platform/auth/key-lookup.ts';
import { createLastUses } from '../../../src/platform/auth/last-use.ts';
import type { Queryable } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { insertSendKey, type SendKey } from '../../support/send-keys.ts';

let api: TestApi;
let sender: SendKey;
beforeAll(async () => {
  // The walk over all routes is faster than a key may be.
  api = await startTestApi({ env: { RATE_LIMIT_PER_KEY: '0' } });
  sender = await insertSendKey(api.database.pool, api);
});
afterAll(() => api.close());

const MESSAGES = '/v1/my/messages';
const ATTACHMENTS = '/v1/my/attachments';
const CONFLICT = 'this idempotency key was used with another API key';
const REFUSAL = 'this key can only send messages and read what it sent';

/** Asks with the head of a request, whose body never comes. */
function answerToHead(method: string, path: string): Promise<[status: number | undefined, body: object]> {
  const { promise, resolve, reject } = Promise.withResolvers<[number | undefined, object]>();
  const headers = {
    Authorization: `Bearer ${sender.key}`,
    'Content-Type': 'application/json',
    ...(method === 'GET' ? {} : { 'Content-Length': '1000' }),
  };
  const asked = request(`${api.baseUrl}${path}`, { method, headers, agent: false });
  asked.on('error', reject).on('response', (response) => {
    json(response).then((body) => {
      resolve([response.statusCode, body as object]);
      asked.destroy();
    }, reject);
  });
  asked.flushHeaders();
  return promise;
}

describe('a route', () => {
  const routes = () => api.routes.filter(({ auth }) => auth !== 'none' && auth !== 'grant');

  it('refuses send-only keys, whatever its path names, before it reads a body, unless it declares otherwise', async () => {
    const closed = routes().filter(({ sendKeys }) => sendKeys === undefined);
    expect(closed.length).toBeGreaterThan(100);
    const wrong: unknown[] = [];
    for (const { method, path, operationId } of closed) {
      for (const id of new Set(['1', '999999999'].map((value) => path.replaceAll(/:\w+/g, value)))) {
        const [status, body] = await answerToHead(method, id);
        if (status !== 403 || (body as { message: string }).message !== REFUSAL)
          wrong.push([operationId, body]);
      }
    }
    expect(wrong).toEqual([]);
    const { rows } = await api.database.pool.query(
      `select distinct actor_name from audit_entries where actor_kind = 'api_key' and actor_id = $1 and status = 403`,
      [sender.id],
    );
    expect(rows).toEqual([{ actor_name: `${sender.key.slice(0, 13)} wordpress` }]);
  });

  it('of these few takes send-only keys', async () => {
    const open = routes().filter(({ sendKeys }) => sendKeys !== undefined);
    expect(open.map(({ operationId }) => operationId).sort()).toEqual([
      ...['createAttachment', 'deleteAttachment', 'downloadMessageAttachment', 'getAttachment', 'getMessage'],
      ...['listMessages', 'sendMessage', 'sendMessageBatch'],
    ]);
    const wrong: string[] = [];
    for (const { method, path } of open) {
      const named = path.replaceAll(/:\w+/g, '999999999');
      const body = method === 'POST' ? { nonsense: 1 } : undefined;
      const { status } = await api.request(method, named, { token: sender.key, body });
      if (status === 403) wrong.push(`${method} ${path}`);
    }
    expect(wrong).toEqual([]);
    expect((await api.request('POST', '/mcp', { token: sender.key, body: {} })).status).toBe(401);
  });

  it('says in the description of the API what they may do', async () => {
    const { body } = await api.request('GET', '/openapi.json', { token: null });
    const textOf = (path: string, method: string) => String(body.paths?.[path]?.[method]?.description);
    expect(textOf('/v1/my/messages', 'post')).toContain('Send-only keys may use this.');
    expect(textOf('/v1/my/messages', 'get')).toContain('With a send-only key only: messages that it sent.');
    expect(textOf('/v1/my/contacts', 'get')).not.toContain('end-only key');
  });
});

describe('the look-up', () => {
  it('finds it with its scope, in the query that finds the others', async () => {
    const texts: string[] = [];
    const counting = {
      query(...given: Parameters<Queryable['query']>) {
        texts.push((given[0] as { text: string }).text);
        return api.database.pool.query(...given);
      },
    };
    const keys = createKeyLookup(counting);
    const asked = [sender.key, api.apiKey, generateKey('send').key].map((key) => keys.find(key));
    expect(await Promise.all(asked)).toMatchObject([
      { id: sender.id, accountId: api.accountId, brandId: api.brandId, test: false, scope: 'send' },
      { id: api.apiKeyId, test: false, scope: null },
      null,
    ]);
    expect(texts).toHaveLength(1);
    await createKeyLookup(counting).find(api.apiKey);
    expect(texts[1]).not.toContain('send_keys');
  });

  it('serves callers that are not requests, as members who can only send', async () => {
    const used: number[] = [];
    const findKey = createFindKey({
      keys: createKeyLookup(api.database.pool),
      keyUses: { used: (id) => void used.push(id) },
    });
    expect(await findKey(sender.key)).toMatchObject({
      tenant: { actor: { kind: 'api_key', id: sender.id, scope: 'send' }, role: 'member' },
      rateLimitName: `key ${sender.id}`,
    });
    expect((await findKey(api.apiKey))?.tenant).toMatchObject({ role: 'admin' });
    expect(await findKey('secret')).toBeNull();
    expect(used).toEqual([sender.id, api.apiKeyId]);
  });

  it('records its last use', async () => {
    const uses = createLastUses(api.database.pool, ['api_keys', 'send_keys'], pino({ level: 'silent' }));
    const { id } = await insertSendKey(api.database.pool, api);
    uses.used(id);
    await uses.stop();
    const { rows } = await api.database.pool.query('select last_used_at from send_keys where id = $1', [id]);
    expect(rows).toEqual([{ last_used_at: expect.any(Date) }]);
  });

  it('is unknown to a version without such keys, which takes it for no key at all', () => {
    // As that version has it: what this does not match is a session token, which has dots, or refused without a query.
    const shape = /^crl_(live|test)_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;
    expect(shape.test(api.apiKey)).toBe(true);
    for (const { key } of [sender, generateKey('send')]) {
      expect([shape.test(key), key.includes('.')]).toEqual([false, false]);
      expect(parseKey(key)).toEqual({ kind: 'send', digest: createHash('sha256').update(key).digest() });
    }
  });
});

describe('a send-only key', () => {
  const email = { channel: 'email', to: 'ada@example.com', subject: 'Hello', html: '<p>Hi</p>' };
  type Asked = { token?: string; body?: unknown; rawBody?: FormData; headers?: Record<string, string> };
  const asKey = (method: string, path: string, rest: Asked = {}) =>
    api.request(method, path, { token: sender.key, ...rest });
  const form = (content: string) => {
    const rawBody = new FormData();
    rawBody.append('file', new File([content], 'a.txt'));
    return rawBody;
  };
  const upload = async (token: string, content = 'hello') =>
    Number((await asKey('POST', ATTACHMENTS, { token, rawBody: form(content) })).body.id);
  const send = async (token: string, body: object = email): Promise<number> => {
    const sent = await asKey('POST', MESSAGES, { token, body });
    expect([sent.status, sent.body.validation_errors ?? {}]).toEqual([201, {}]);
    return Number(sent.body.id);
  };
  const file = { filename: 'a.txt', content: Buffer.from('hello').toString('base64') };
  const letter = { ...email, cc: ['bob@example.com'], attachments: [file] };

  it('reads only what it sent', async () => {
    const twin = await insertSendKey(api.database.pool, api);
    const others = [await send(api.apiKey), await send(api.apiKey, letter), await send(twin.key, letter)];
    const alone = await send(sender.key);
    const lead = await send(sender.key, letter);
    const ids = async (token: string, query = '') =>
      (await asKey('GET', `${MESSAGES}${query}`, { token })).list.map(({ id }) => Number(id));
    expect(await ids(sender.key)).toEqual([lead + 1, lead, alone]);
    expect(await ids(sender.key, '?to=ada@example.com')).toEqual([lead, alone]);
    expect(await ids(sender.key, `?after=${lead}`)).toEqual([alone]);
    expect((await asKey('GET', MESSAGES)).headers.get('X-Total-Count')).toBe('3');
    expect(await ids(twin.key)).toEqual([(others[2] ?? 0) + 1, others[2]]);
    expect(await ids(api.apiKey)).toEqual(expect.arrayContaining([...others, alone, lead]));
    for (const id of [alone, lead, lead + 1]) {
      expect((await asKey('GET', `${MESSAGES}/${id}`)).body).toMatchObject({ id, subject: 'Hello' });
    }
    expect((await asKey('GET', `${MESSAGES}/${lead}/attachments/1`)).text).toBe('hello');
    for (const id of others) {
      for (const path of [`${MESSAGES}/${id}`, `${MESSAGES}/${id}/attachments/1`]) {
        expect([path, (await asKey('GET', path)).status]).toEqual([path, 404]);
      }
    }
  });

  it('cannot attach, see or remove what others uploaded', async () => {
    const twin = await insertSendKey(api.database.pool, api);
    const mine = await upload(sender.key);
    for (const id of [await upload(api.apiKey), await upload(twin.key), 999_999_999]) {
      const refused = await asKey('POST', MESSAGES, {
        body: { ...email, attachments: [{ attachment_id: id }] },
      });
      expect([refused.status, refused.body.validation_errors]).toEqual([
        422,
        { 'attachments.0.attachment_id': ['is not an attachment of this brand, or has expired'] },
      ]);
      for (const method of ['GET', 'DELETE']) {
        expect((await asKey(method, `${ATTACHMENTS}/${id}`)).status).toBe(404);
      }
    }
    await send(sender.key, { ...email, attachments: [{ attachment_id: mine }] });
    await send(api.apiKey, { ...email, attachments: [{ attachment_id: mine }] });
    expect((await asKey('GET', `${ATTACHMENTS}/${mine}`)).body).toMatchObject({ id: mine, size: 5 });
    expect((await asKey('DELETE', `${ATTACHMENTS}/${mine}`)).status).toBe(200);
  });

  it('cannot see what the idempotency key of another API key did, nor whether its payload was the same', async () => {
    const twin = await insertSendKey(api.database.pool, api);
    const made = await asKey('POST', '/v1/my/templates', {
      token: api.apiKey,
      body: { channel: 'email', subject: 'Hi', body: '<p>Hi</p>' },
    });
    const bodies = [email, letter, { ...email, html: undefined, template_id: made.body.id }];
    let n = 0;
    for (const body of bodies) {
      for (const first of [api.apiKey, twin.key]) {
        n += 1;
        const headers = { 'Idempotency-Key': `of another key ${n}` };
        expect((await asKey('POST', MESSAGES, { token: first, headers, body })).status).toBe(201);
        for (const tried of [body, { ...body, subject: 'Guessed' }]) {
          const { status, body: answer } = await asKey('POST', MESSAGES, { headers, body: tried });
          expect([status, answer.code, answer.message]).toEqual([409, 'idempotency_conflict', CONFLICT]);
        }
      }
    }
    const headers = { 'Idempotency-Key': 'of another upload' };
    await asKey('POST', ATTACHMENTS, { token: api.apiKey, headers, rawBody: form('one') });
    for (const content of ['one', 'two']) {
      const { status, body } = await asKey('POST', ATTACHMENTS, { headers, rawBody: form(content) });
      expect([status, body.message]).toEqual([
        409,
        'this idempotency key was used with a different payload, or with another API key',
      ]);
    }
  });

  it('replays what it sent itself, as do keys that may read it anyway', async () => {
    for (const body of [email, letter]) {
      const headers = { 'Idempotency-Key': `own ${JSON.stringify(body).length}` };
      const first = await asKey('POST', MESSAGES, { headers, body });
      for (const token of [sender.key, api.apiKey]) {
        const again = await asKey('POST', MESSAGES, { token, headers, body });
        expect([again.status, again.body.id, again.headers.get('Idempotent-Replayed')]).toEqual([
          201,
          first.body.id,
          'true',
        ]);
      }
      const other = await asKey('POST', MESSAGES, { headers, body: { ...body, subject: 'Other' } });
      expect([other.status, other.body.message]).toEqual([
        409,
        'this idempotency key was used with a different payload',
      ]);
    }
    const headers = { 'Idempotency-Key': 'own upload' };
    const [one, two] = [
      await asKey('POST', ATTACHMENTS, { headers, rawBody: form('own') }),
      await asKey('POST', ATTACHMENTS, { headers, rawBody: form('own') }),
    ];
    expect([one.status, two.body.id]).toEqual([201, one.body.id]);
  });
});
