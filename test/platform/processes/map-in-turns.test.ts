// Bulk requests are parsed in short turns, so that one request never blocks the event loop.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { MAX_BULK_ITEMS } from '../../../src/platform/input/bulk-body.ts';
import { findOptOuts } from '../../../src/delivery/ledger/consent/opt-outs.ts';
import { changeMembers, repeatResults } from '../../../src/features/lists/bulk.ts';
import { mapInTurns } from '../../../src/platform/processes/map-in-turns.ts';
import { changeSuppressions } from '../../../src/features/suppressions/service.ts';
import type { Tenant } from '../../../src/platform/auth/tenant.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { watchItems } from '../../support/items-per-turn.ts';
import { insertAccount } from '../../support/queued.ts';
import { testKeyring } from '../../support/webhooks.ts';

/** An item takes 20 µs, so that these take a tenth of the 50 ms that nothing may hold up the event loop for. */
const MAX_ITEMS_PER_TURN = 250;

let test: TestDatabase;
let tenant: Tenant;
let listId: number;

beforeAll(async () => {
  test = await createTestDatabase();
  tenant = (await insertAccount(test.database)) as Tenant;
  const { rows } = await test.database.pool.query<{ id: number }>(
    `insert into lists (account_id, brand_id, name) values ($1, $2, 'VIP') returning id`,
    [tenant.accountId, tenant.brandId],
  );
  listId = rows[0]?.id ?? 0;
});
afterAll(() => test.drop());

const many = (item: (n: number) => string) => Array.from({ length: MAX_BULK_ITEMS }, (_, n) => item(n));
const consent = { keyring: testKeyring, plusAddresses: false };

const phones = (n: number) => `+1415${String(2_000_000 + n)}`;
const emails = (n: number) => `recipient${n}@xn--mnchen-3ya.example`;

it('ends a turn earlier if the items take long', async () => {
  const watched = watchItems(Array.from({ length: 100 }, (_, n) => n));
  const results = await mapInTurns(watched.items, (n) => {
    const until = performance.now() + 1;
    while (performance.now() < until);
    return n;
  });
  watched.stop();
  expect(results).toEqual(Array.from({ length: 100 }, (_, n) => n));
  expect(watched.most()).toBeLessThanOrEqual(20);
});

it.each([
  ['phone numbers to suppress', phones],
  ['emails to suppress', emails],
])('parses %s in turns', async (_what, item) => {
  const [add, remove] = [watchItems(many(item)), watchItems<string>([])];
  const results = await changeSuppressions(test.database.pool, tenant, {
    add: add.items,
    remove: remove.items,
  });
  [add, remove].forEach(({ stop }) => stop());
  expect(results).toHaveLength(MAX_BULK_ITEMS);
  expect(results.every(({ status }) => status === 'added')).toBe(true);
  expect(add.most()).toBeLessThanOrEqual(MAX_ITEMS_PER_TURN);
});

it('parses the contacts of a list in turns', async () => {
  const watched = watchItems<string | number>(many(emails));
  const body = { add: watched.items, remove: [] };
  const { results } = await inTransaction(test.database.pool, (trx) =>
    changeMembers(trx, consent, tenant, listId, body, false),
  );
  watched.stop();
  expect(results.every(({ status }) => status === 'created')).toBe(true);
  expect(watched.most()).toBeLessThanOrEqual(MAX_ITEMS_PER_TURN);
});

it('parses them in turns also if the request is repeated', async () => {
  const remove = many(emails);
  const { id } = await inTransaction(test.database.pool, (trx) =>
    changeMembers(trx, consent, tenant, listId, { add: [], remove }, true),
  );
  const watched = watchItems<string | number>(remove);
  const results = await repeatResults(test.database.pool, tenant, id ?? 0, {
    add: [],
    remove: watched.items,
  });
  watched.stop();
  expect(results).toHaveLength(MAX_BULK_ITEMS);
  expect(watched.most()).toBeLessThanOrEqual(MAX_ITEMS_PER_TURN);
});

it('hashes the addresses of new contacts in turns', async () => {
  const watched = watchItems(many(emails));
  await findOptOuts(test.database.pool, testKeyring, {
    ...{ brandId: tenant.brandId, channel: 'email', addresses: watched.items },
  });
  watched.stop();
  expect(watched.most()).toBeLessThanOrEqual(MAX_ITEMS_PER_TURN);
});
