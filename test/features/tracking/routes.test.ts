// A valid tracked link leads exactly to its URL unless an operator paused the account; invalid links lead nowhere.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { resumeSending } from '../../../src/features/accounts/service.ts';
import { brakeAccounts } from '../../../src/features/brakes/rates.ts';
import { pauseAccount } from '../../../src/features/brakes/service.ts';
import { createSuspendedAccounts } from '../../../src/features/tracking/suspended.ts';
import { createTrackingTokens, type TrackedTarget } from '../../../src/features/tracking/tokens.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { type TestApi, startTestApi } from '../../support/api.ts';
import { testEvents } from '../../support/events.ts';
import { eventually } from '../../support/eventually.ts';
import { CHROME, pathOf, targetsOf, trackingTokens, writeTrackedMail } from '../../support/tracking.ts';

const PREVIOUS = 'the secret of last year: thirty-two characters';
let api: TestApi;
let messageId: number;
let pixel: TrackedTarget;
let link: TrackedTarget;

beforeAll(async () => {
  api = await startTestApi({ env: { APP_SECRET_PREVIOUS: PREVIOUS, TRUSTED_PROXIES: '127.0.0.1' } });
  messageId = await writeTrackedMail(api.database, api);
  [pixel, link] = targetsOf(api, messageId, 1) as [TrackedTarget, TrackedTarget];
});
afterAll(() => api.close());

function get(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { 'User-Agent': CHROME, 'X-Forwarded-For': '203.0.113.9', ...init.headers };
  return fetch(`${api.baseUrl}${path}`, { redirect: 'manual', ...init, headers });
}

async function hits(): Promise<Record<string, unknown>[]> {
  const { rows } = await api.database.pool.query<Record<string, unknown>>(
    'select message_id, account_id, link, is_bot, reason, user_agent, host(ip) as ip from tracking_hits order by created_at',
  );
  return rows;
}

describe('a tracked link', () => {
  it('redirects to exactly its URL, and stores the hit', async () => {
    const before = await hits();
    const response = await get(pathOf(link));
    expect(response.status).toBe(302);
    expect(response.headers.get('location')).toBe('https://a.test/1?x=1&y=%20#z');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('referrer-policy')).toBe('no-referrer');
    expect((await hits()).slice(before.length)).toEqual([
      {
        message_id: messageId,
        account_id: api.accountId,
        link: 1,
        is_bot: false,
        reason: null,
        user_agent: CHROME,
        ip: '203.0.113.9',
      },
    ]);
  });

  it('ignores parameters that a gateway adds to its query', async () => {
    const response = await get(`${pathOf(link)}?url=https://evil.test&url=2&__proto__=x`);
    expect(response.headers.get('location')).toBe(link.url);
  });

  it('redirects to its URL for HEAD, which is stored as a bot', async () => {
    const response = await get(pathOf(link), { method: 'HEAD' });
    expect([response.status, response.headers.get('location')]).toEqual([302, link.url]);
    expect((await hits()).at(-1)).toMatchObject({ is_bot: true, reason: 'head' });
  });

  it('is valid if an earlier secret signed it', async () => {
    const response = await get(pathOf(link, createTrackingTokens(createKeyring(PREVIOUS))));
    expect(response.status).toBe(302);
  });

  it.each<[string, () => string]>([
    ['a foreign secret', () => pathOf(link, createTrackingTokens(createKeyring('x'.repeat(32))))],
    ['another URL', () => pathOf(link).slice(0, -1)],
    ['the token of a pixel', () => pathOf(pixel).replace('/o/', '/c/')],
    ['a URL instead of a token', () => `/c/${encodeURIComponent('https://evil.test/')}`],
    ['nothing', () => '/c/'],
    ['a slash', () => '/c//evil.test'],
    ['junk', () => `/c/${'A'.repeat(4_000)}`],
    ['broken escapes', () => '/c/%E0%A4%A'],
  ])('leads nowhere with %s, and keeps nothing', async (_what, path) => {
    const before = await hits();
    const response = await get(path());
    expect([400, 404]).toContain(response.status);
    expect(response.headers.get('location')).toBeNull();
    expect(await hits()).toEqual(before);
  });

  it('never leads to another scheme, even if we had signed it', async () => {
    const response = await get(pathOf({ ...link, url: 'javascript:alert(1)' }));
    expect(response.status).toBe(404);
  });

  it('shows a page to a person with an invalid link', async () => {
    const response = await get('/c/AAAA');
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(await response.text()).toContain('This link is not valid.');
  });
});

describe('the pixel', () => {
  it('is an image that is never cached, and its hit is stored', async () => {
    const response = await get(pathOf(pixel));
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/gif']);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(Buffer.from(await response.arrayBuffer()).toString('latin1', 0, 6)).toBe('GIF89a');
    expect((await hits()).at(-1)).toMatchObject({ message_id: messageId, link: 0, is_bot: false });
  });

  it('is not found with the token of a link', async () => {
    const response = await get(pathOf(link).replace('/c/', '/o/'));
    expect(response.status).toBe(404);
  });
});

describe('while the account is paused', () => {
  it('by the brakes, links work until an operator pauses it, too', async () => {
    const { pool } = api.database;
    const { accountId } = api.other;
    await pool.query(
      `insert into account_outcomes (account_id, hour, attempted, complaints)
       values ($1, date_trunc('hour', now(), 'UTC'), 500, 5)`,
      [accountId],
    );
    const { accounts } = await brakeAccounts({ pool, events: testEvents, systemFrom: 'hello@mail.test' });
    expect(accounts).toMatchObject([{ reason: 'complaint_rate' }]);
    const log = pino({ level: 'silent' });
    expect(await createSuspendedAccounts(pool, log)(accountId)).toBe(false);
    await inTransaction(pool, (trx) => pauseAccount(trx, testEvents, accountId, 'complaint_rate'));
    expect(await createSuspendedAccounts(pool, log)(accountId)).toBe(true);
    await resumeSending(pool, accountId);
    expect(await createSuspendedAccounts(pool, log)(accountId)).toBe(false);
  });

  it('links do not work and pixel hits are not stored', async () => {
    const { pool } = api.database;
    const target = { ...link, accountId: api.other.accountId };
    expect((await get(pathOf(target))).status).toBe(302);
    await pool.query('update accounts set sending_paused_at = now() where id = $1', [api.other.accountId]);
    await eventually(async () => {
      // Each request is a hit, and only the first 100 of a message are stored.
      await delay(250);
      expect((await get(pathOf(target))).status).toBe(410);
    });
    const before = await hits();
    const response = await get(pathOf({ ...pixel, accountId: api.other.accountId }));
    expect(response.status).toBe(200);
    expect((await get(pathOf(target))).headers.get('location')).toBeNull();
    expect((await get(pathOf(link))).status).toBe(302);
    expect(await hits()).toHaveLength(before.length + 1);
  });
});

it('counts no lost hits while the database works', async () => {
  const metrics = await (await fetch(`${api.opsUrl}/metrics`)).text();
  expect(metrics).toContain('carillon_tracking_hits_lost_total 0');
});

it('creates tokens of exactly the length reserved for them', () => {
  expect(pathOf(link).length).toBe(3 + Math.ceil(((37 + link.url.length) * 4) / 3));
  expect(trackingTokens.keyId).toMatch(/^[0-9a-f]{8}$/);
});
