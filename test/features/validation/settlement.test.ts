// A validation settles once each time it ends, even if several processes end it, and counts each result once.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { readOperation, type OperationRow } from '../../../src/features/validation/model.ts';
import { type ItemResult, writeResults } from '../../../src/features/validation/results.ts';
import { advanceValidation, type ValidationRunDeps } from '../../../src/features/validation/run.ts';
import type { Operation } from '../../../src/features/validation/schema.ts';
import { endOperation } from '../../../src/features/validation/settle.ts';
import { inTransaction, onClient } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { insertContacts } from '../../support/contacts.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import { eventually } from '../../support/eventually.ts';
import {
  addContacts,
  attendance,
  emptyWallets,
  giveFunds,
  itemsOf,
  PATH,
  runToEnd,
  startValidation,
  validationDeps,
} from '../../support/validation.ts';
import { countWaiting } from '../../support/waiting.ts';

const PRICE = 400;

let api: TestApi;
let dns: TestDnsServer;
let deps: ValidationRunDeps;
beforeAll(async () => {
  dns = await startDnsServer({});
  api = await startTestApi({ env: { DNS_SERVERS: dns.address } });
  deps = validationDeps(api, dns);
});
afterAll(async () => {
  await api.close();
  dns.close();
});
beforeEach(async () => {
  await query('truncate validation_operations, contacts, outbox cascade');
  await emptyWallets(pool());
  await giveFunds(pool(), api.accountId, { price: PRICE, millicents: 1_000_000 });
});

const pool = () => api.database.pool;
const query = (text: string, values: unknown[] = []) => pool().query(text, values);
const operationOf = async (id: number) => (await api.request<Operation>('GET', `${PATH}/${id}`)).body;

/** A running operation that has taken its candidates. */
async function startRunning(ids: number[], key?: string): Promise<OperationRow> {
  const { body } = await startValidation(api, { contact_ids: ids }, key === undefined ? {} : { key });
  await advanceValidation(deps, body.id, new Date(), attendance);
  await advanceValidation(deps, body.id, new Date(), attendance);
  return (await readOperation(pool(), body.id)) as OperationRow;
}

const result = (id: number): ItemResult => ({
  ...{ id, verdict: 'undeliverable', reason: 'no_domain', checks: null, suggestion: null },
  ...{ charged: true, checkedAt: new Date().toISOString(), isNew: true, reusable: true },
});

/**
 * Keeps other transactions from reading items while `work` runs.
 * @throws if the work waits for them
 */
async function withoutItems<T>(work: () => Promise<T>): Promise<T> {
  return onClient(pool(), async (other) => {
    await other.query('begin; lock table validation_items in access exclusive mode');
    const state = { isDone: false };
    const working = work().finally(() => (state.isDone = true));
    await eventually(async () => expect(state.isDone || (await countWaiting(pool())) > 0).toBe(true));
    const waited = !state.isDone;
    await other.query('rollback');
    const done = await working;
    if (waited) throw new Error('it waited for the items');
    return done;
  });
}

describe('the settlement of a validation', () => {
  it('happens once, even if several processes end the operation', async () => {
    const ids = await insertContacts(pool(), api, 600);
    await query(`update contacts set email = replace(email, 'example.com', 'gone.test')`);
    const { body } = await startValidation(api, { contact_ids: ids });
    await advanceValidation(deps, body.id, new Date(), attendance);
    await advanceValidation(deps, body.id, new Date(), attendance);
    const work = [
      ...Array.from({ length: 3 }, () => runToEnd(deps, body.id)),
      ...Array.from({ length: 3 }, () => api.request('POST', `${PATH}/${body.id}/cancel`)),
      inTransaction(pool(), (trx) => endOperation(trx, body.id, 'failed')),
    ];
    await Promise.all(work);
    const { charged_cents: charged, status, counts, remaining_count: remaining } = await operationOf(body.id);
    expect(['completed', 'canceled', 'failed']).toContain(status);
    const { rows } = await pool().query<{ items: number; entries: number; millicents: number | null }>(
      `select (select count(*) from validation_items where charged) as items, count(*) as entries,
         -sum(millicents)::bigint as millicents from wallet_entries where kind = 'validation'`,
    );
    const { items = 0, entries, millicents } = rows[0] ?? {};
    expect(charged).toBe(items * 0.4);
    expect([counts.undeliverable, remaining]).toEqual([items, 600 - items]);
    expect([entries, millicents ?? 0]).toEqual([items > 0 ? 1 : 0, items * PRICE]);
  });

  it('does not read the items, because others would wait for a million of them', async () => {
    const ids = await addContacts(api, ['a@gone.test', 'b@gone.test']);
    const row = await startRunning(ids);
    const [first] = await itemsOf(api, row.id);
    await writeResults(pool(), row, [result(first?.id ?? 0)]);
    const canceled = await withoutItems(() => api.request<Operation>('POST', `${PATH}/${row.id}/cancel`));
    expect(canceled.body).toMatchObject({
      ...{ status: 'canceled', remaining_count: 1, charged_cents: 0.4 },
      counts: { deliverable: 0, undeliverable: 1, risky: 0, unknown: 0 },
    });
  });

  it('is followed by a second one that charges the rest if the operation resumes', async () => {
    const ids = await addContacts(api, ['a@gone.test', 'b@gone.test', 'c@gone.test']);
    const row = await startRunning(ids, 'resumed');
    const [first] = await itemsOf(api, row.id);
    await writeResults(pool(), row, [result(first?.id ?? 0)]);
    await inTransaction(pool(), (trx) => endOperation(trx, row.id, 'failed'));
    const { body } = await withoutItems(() => startValidation(api, { contact_ids: ids }, { key: 'resumed' }));
    expect(body).toMatchObject({ id: row.id, status: 'pending', remaining_count: 2, charged_cents: 0.4 });
    const { rows } = await query('select reserved_millicents from validation_operations');
    expect(rows).toEqual([{ reserved_millicents: 2 * PRICE }]);
    await runToEnd(deps, row.id);
    expect(await operationOf(row.id)).toMatchObject({ status: 'completed', charged_cents: 1.2 });
    const entries = await query(
      `select millicents from wallet_entries where kind = 'validation' order by id`,
    );
    expect(entries.rows).toEqual([{ millicents: -PRICE }, { millicents: -2 * PRICE }]);
  });
});

describe('the counts of a validation', () => {
  it('count each result once, even if two processes write the same page', async () => {
    const ids = await addContacts(api, ['a@gone.test', 'b@gone.test', 'c@gone.test']);
    const row = await startRunning(ids);
    const [one, two, three] = (await itemsOf(api, row.id)).map(({ id }) => result(id)) as [
      ItemResult,
      ItemResult,
      ItemResult,
    ];
    const written = await onClient(pool(), async (other) => {
      await other.query('begin');
      await writeResults(other, row, [one, two]);
      const second = writeResults(pool(), row, [two, three]);
      await eventually(async () => expect(await countWaiting(pool())).toBe(1));
      await other.query('commit');
      return second;
    });
    expect(written).toBe(1);
    expect((await readOperation(pool(), row.id)) as OperationRow).toMatchObject({
      ...{ undeliverable_count: 3, priced_count: 3, checked_chargeable_count: 3, charged_count: 0 },
    });
    expect(await operationOf(row.id)).toMatchObject({ remaining_count: 0, charged_cents: 0 });
  });
});
