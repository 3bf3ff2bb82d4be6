// A page of contacts does not read the whole campaign that its filters name.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { scanContacts } from '../../../src/features/contacts/service.ts';
import type { Queryable } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { writeRecipients } from '../../support/campaign-requests.ts';
import { insertContacts } from '../../support/contacts.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

interface Plan {
  'Actual Rows': number;
  'Actual Loops': number;
  Plans?: Plan[];
}

/** The rows that a plan reads at its ends. */
function rowsRead({ Plans: plans, ...plan }: Plan): number {
  if (plans) return plans.reduce((sum, part) => sum + rowsRead(part), 0);
  return plan['Actual Rows'] * plan['Actual Loops'];
}

it('reads the mail of a campaign only for the contacts of a page', async () => {
  const { pool } = api.database;
  const ids = await insertContacts(pool, api, 3_000, 'of-page-');
  const created = await pool.query<{ id: number }>(
    `insert into campaigns (account_id, brand_id, channel, name, phase, tracking, status)
       values ($1, $2, 'email', 'Sale', 'done', '{"opens": true, "clicks": true}', 'completed') returning id`,
    [api.accountId, api.brandId],
  );
  const sale = created.rows[0]?.id ?? 0;
  const mail = await pool.query<{ contactId: number; address: string }>(
    'select id as "contactId", email_key as address from contacts where id = any($1)',
    [ids],
  );
  await writeRecipients(
    api,
    sale,
    mail.rows.map((one) => ({ ...one, status: 'delivered', sent: true })),
  );
  await pool.query('analyze contacts, messages, campaign_blocks');
  const value = { campaign_id: sale };
  const filters = [
    { name: 'email_sent', predicate: 'did', value },
    { name: 'email_opened', predicate: 'did_not', value },
  ];
  const made = await api.request('POST', '/v1/my/segments', { body: { name: 'Not opened', filters } });
  let read = 0;
  const explaining: Queryable = {
    async query(...[text, values]: Parameters<Queryable['query']>) {
      if (String(text).includes('messages')) {
        const { rows: plans } = await pool.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
          `explain (analyze, format json) ${String(text)}`,
          values,
        );
        for (const plan of plans) read += rowsRead(plan['QUERY PLAN'][0].Plan);
      }
      return (await pool.query(text, values)) as never;
    },
  };
  const scan = { after: 0, upTo: ids.at(-1) ?? 0, maxRows: 50 };
  const scope = { ...api, asOf: new Date() };
  const page = await scanContacts(explaining, scope, { segment_id: Number(made.body.id) }, scan);
  expect(page.ids).toEqual(ids.slice(0, 50));
  expect(read).toBeGreaterThan(50);
  expect(read).toBeLessThan(1_000);
});
