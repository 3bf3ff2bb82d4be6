// Counting the candidates of a large list reads only indexes, and builds no hash table.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { candidatesOf, countCandidates } from '../../../src/features/validation/audience.ts';
import { inTransaction, type Queryable } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { insertContacts } from '../../support/contacts.ts';

const CONTACTS = 20_000;

let api: TestApi;
let listId: number;
beforeAll(async () => {
  api = await startTestApi();
  const { pool } = api.database;
  await insertContacts(pool, api, CONTACTS);
  const list = await api.request('POST', '/v1/my/lists', { body: { name: 'all' } });
  listId = list.body.id as unknown as number;
  await pool.query('insert into list_members (list_id, contact_id) select $1, id from contacts', [listId]);
  await pool.query(
    `insert into contact_verdicts (contact_id, brand_id, email_key, verdict, reusable, checked_at)
     select id, brand_id, case id % 4 when 0 then 'former@example.com' else email_key end, 'undeliverable', true, now()
     from contacts where id % 2 = 0`,
  );
  await pool.query('vacuum (analyze) contacts, list_members, contact_verdicts');
}, 60_000);
afterAll(() => api.close());

/** Runs statements with `explain`, and keeps the lines of the last plan. */
function explaining(trx: Queryable, plan: string[]): Queryable {
  return {
    async query(statement, values) {
      if (typeof statement !== 'string' || values === undefined) return trx.query(statement, values);
      const { rows } = await trx.query<{ 'QUERY PLAN': string }>(`explain ${statement}`, values);
      plan.splice(0, plan.length, ...rows.map((row) => row['QUERY PLAN']));
      return trx.query(statement, values);
    },
  };
}

describe('the members of a large list', () => {
  it('are counted from indexes alone, without hash tables', async () => {
    const plan: string[] = [];
    const asOf = new Date();
    const counted = await inTransaction(api.database.pool, async (trx) => {
      const source = await candidatesOf(trx, api, { kind: 'list_id', ids: [listId] }, null, asOf);
      return countCandidates(explaining(trx, plan), api, source, asOf);
    });
    expect(counted).toMatchObject({ candidates: CONTACTS, reusable: CONTACTS / 4 });
    const text = plan.join('\n');
    expect(text).toContain('Index Only Scan using contacts_with_email');
    expect(text).toContain('Index Only Scan using contact_verdicts_reusable');
    expect(text).not.toMatch(/Seq Scan|Hash/);
  });
});
