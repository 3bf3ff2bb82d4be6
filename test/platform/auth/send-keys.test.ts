// A send-only key sends and reads what it sent, and nothing else; a process that knows no such keys refuses it.
import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateKey, parseKey } from '../../../src/platform/auth/api-key.ts';
import { createFindKey } from '../../../src/platform/auth/find-key.ts';
import { createKeyLookup } from '../../../src/platform/auth/key-lookup.ts';
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
