// A 2xx response means that the event is stored exactly once, even if database connections break.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { insertContacts } from '../../support/contacts.ts';
import { eventually } from '../../support/eventually.ts';

const POSTS = 1_000;
const AT_ONCE = 24;
/** Number of responses after which all connections of the API to the database are ended. */
const KILL_EVERY = 75;

let api: TestApi;
let admin: pg.Client;
beforeAll(async () => {
  api = await startTestApi();
  await insertContacts(api.database.pool, api, 10);
  admin = new pg.Client({ connectionString: api.database.url, application_name: 'killer' });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await api.close();
});

async function endConnections(): Promise<void> {
  await admin.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'carillon test'`,
  );
}

/** Posts event `n`: half for contacts that exist, half for addresses that are unknown at first. */
function post(n: number) {
  const contact_email = n % 2 === 0 ? `contact${n % 10}@example.com` : `unknown${n % 300}@example.com`;
  return api.request('POST', '/v1/my/events', {
    body: { event: `step_${n % 40}`, contact_email, idempotency_key: `lost-${n}`, amount: n },
  });
}

it('a 2xx means that the event is in the table, once, whenever connections break', async () => {
  const accepted = new Map<number, number>();
  const refused = new Map<number, number>();
  let answered = 0;
  const left = Array.from({ length: POSTS }, (_, n) => n);
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let n = left.pop(); n !== undefined; n = left.pop()) {
        const { status, body } = await post(n);
        if (status === 201) accepted.set(n, Number(body.id));
        else refused.set(n, status);
        answered += 1;
        if (answered % KILL_EVERY === 0) await endConnections();
      }
    }),
  );
  expect([...new Set(refused.values())].filter((status) => status !== 503)).toEqual([]);
  expect(refused.size).toBeGreaterThan(0);
  const { rows } = await admin.query<{ n: number; id: number }>(
    'select amount::int as n, id from contact_events order by id',
  );
  const ids = Map.groupBy(rows, (row) => row.n);
  for (const [n, id] of accepted) expect([n, ids.get(n)?.map((row) => row.id)]).toEqual([n, [id]]);

  for (const n of refused.keys()) await eventually(async () => expect((await post(n)).status).toBe(201));
  const { rows: totals } = await admin.query(
    `select count(*) as events, count(distinct amount) as different,
       (select count(*) from contact_event_keys) as keys,
       (select count(*) - count(distinct email_key) from contacts) as twins from contact_events`,
  );
  expect(totals).toEqual([{ events: POSTS, different: POSTS, keys: POSTS, twins: 0 }]);
}, 120_000);
