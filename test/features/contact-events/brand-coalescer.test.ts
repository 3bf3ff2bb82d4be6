// Events of new addresses do not wait for other brands whose consent locks are taken.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { lockConsent } from '../../../src/features/contacts/consent.ts';
import { createTestTenant, startTestApi, type TestApi, type TestTenant } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';
import { countWaiting } from '../../support/waiting.ts';

/** More brands than the tracker creates contacts for at the same time. */
const LOCKED = 6;

let api: TestApi;
let locked: TestTenant[];
beforeAll(async () => {
  api = await startTestApi();
  locked = await Promise.all(
    Array.from({ length: LOCKED }, (_, n) => createTestTenant(api.database, `Locked ${n}`)),
  );
});
afterAll(() => api.close());

/** Takes the consent locks of brands, as a change of subscriptions does. */
let holder: pg.PoolClient;
beforeEach(async () => {
  holder = await api.database.pool.connect();
  await holder.query('begin');
  for (const { brandId } of locked) await lockConsent(holder, brandId, 'alone');
});
afterEach(() => {
  holder.release();
});

let addresses = 0;
const event = () => ({ event: 'visited', contact_email: `new${(addresses += 1)}@example.com` });

const post = ({ apiKey }: TestTenant, path: string, body: object) =>
  api.request('POST', `/v1/my/events${path}`, { token: apiKey, body });

/** How many transactions wait for a consent lock. */
const waiting = () =>
  eventually(async () => {
    expect(await countWaiting(api.database.pool, `locktype = 'advisory'`)).toBeGreaterThan(0);
  });

describe('events of new addresses', () => {
  it('do not wait for brands whose subscriptions are being changed, whose events are written afterwards', async () => {
    const late = locked.map((tenant) => post(tenant, '', event()));
    await waiting();
    expect((await post(api, '', event())).status).toBe(201);
    const known = { event: 'visited', contact_id: await contactOf(locked[0] as TestTenant) };
    expect((await post(locked[0] as TestTenant, '', known)).status).toBe(201);
    await holder.query('rollback');
    expect((await Promise.all(late)).map(({ status }) => status)).toEqual(Array(LOCKED).fill(201));
  });

  it('do not wait for batches of such brands', async () => {
    const late = locked.map((tenant) => post(tenant, '/batch', { events: [event(), event()] }));
    await waiting();
    const { body } = await post(api, '/batch', { events: [event(), event()] });
    expect(body.results).toMatchObject([{ status: 'created' }, { status: 'created' }]);
    await holder.query('rollback');
    for (const batch of await Promise.all(late)) {
      expect(batch.body.results).toMatchObject([{ status: 'created' }, { status: 'created' }]);
    }
  });
});

async function contactOf({ accountId, brandId }: TestTenant): Promise<number> {
  const { rows } = await api.database.pool.query<{ id: number }>(
    `insert into contacts (account_id, brand_id, email, email_key) values ($1, $2, 'known@example.com', 'known@example.com')
     returning id`,
    [accountId, brandId],
  );
  return rows[0]?.id ?? 0;
}
