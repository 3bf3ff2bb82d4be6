// Taking plain messages counts them in warm-ups and paces as a claim does, and neither is held by them.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import { claimBacklog } from '../../../../src/delivery/ledger/claim/claim.ts';
import { takePlainMessages } from '../../../../src/delivery/ledger/claim/take.ts';
import type { Database } from '../../../../src/platform/db/database.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertAccount, insertSender, queueEmails, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';

const OWNER = 91;

let test: TestDatabase;
/** Plans statements as a sender's database does. */
let database: Database;
let account: QueuedAccount;
let seq = 0;

beforeAll(async () => {
  test = await createTestDatabase({ keyedPlans: true });
  ({ database } = test);
  await insertSender(database, OWNER);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(database);
  await change(
    `insert into domains (account_id, brand_id, name, status, return_path_host, tracking_host)
     select account_id, id, name || id || '.example.com', 'verified', 'r', 't'
     from brands cross join (values ('a'), ('b')) d (name) where account_id = $1`,
  );
});

const change = (sql: string) => database.pool.query(sql, [account.accountId]);

/** Two messages of the first domain, one of the second, and one without a domain. */
async function queue(): Promise<void> {
  await change('delete from send_queue where account_id = $1');
  await queueEmails(database, account, 4);
  await change(
    `update send_queue q set domain_id = o.id from (
       select m.id as message_id, d.id from (
         select id, row_number() over (order by id) as n from messages where id in (
           select message_id from send_queue where account_id = $1)) m
       join (select id, row_number() over (order by id) as n from domains where account_id = $1) d
         on d.n = (m.n + 1) / 2 and m.n < 4) o
     where q.message_id = o.message_id`,
  );
}

const limitsWith = (perMinute: number) => ({
  ...TEST_LIMITS,
  suppress_plus_addresses: 0,
  pacing_per_minute: perMinute,
});

const backlog = () => ({ accountId: account.accountId, owner: OWNER });

const take = (perMinute: number) =>
  takePlainMessages(
    database.pool,
    { ...backlog(), seq: ++seq, provider: 'smtp', reportSeconds: 0, providerId: 0, messages: 50 },
    limitsWith(perMinute),
  );

const claim = (perMinute: number) =>
  claimBacklog(
    database.pool,
    { ...backlog(), channel: 'email', class: messageClasses.transactional, quantum: 50 },
    limitsWith(perMinute),
  );

/** What counts, by the place of the domain. */
async function counted() {
  const ofDomains = async (sql: string) => {
    const { rows } = await database.pool.query<Record<string, unknown>>(
      `select o.*, row_number() over (order by d.id) as domain
       from domains d left join lateral (${sql}) o on true where d.account_id = $1 order by d.id`,
      [account.accountId],
    );
    return rows;
  };
  return {
    days: await ofDomains(
      "select used, day = (now() at time zone 'utc')::date as today from warm_up_days where domain_id = d.id",
    ),
    paces: await ofDomains(
      `select used, per_minute, p.account_id = d.account_id as of_account, now() - minute < interval '2 minutes' as now
       from domain_paces p where domain_id = d.id`,
    ),
  };
}

/** Forgets what was counted, and leaves warm-ups and paces as the case has them. */
const forget = () =>
  change(
    `with d as (delete from warm_up_days where domain_id in (select id from domains where account_id = $1)),
       p as (delete from domain_paces where account_id = $1),
       w as (delete from warm_ups where account_id = $1)
     delete from allowance_buckets where account_id = $1`,
  );

const FIRST = '(select min(id) from domains where account_id = $1)';
const WARM_UP = `insert into warm_ups (domain_id, account_id, daily_limit) values (${FIRST}, $1, 1)`;

it.each([
  ['no warm-up and no pace', [], 0],
  ['a warm-up', [WARM_UP], 0],
  [
    'a pace of its own',
    [`insert into domain_paces (domain_id, account_id, per_minute) values (${FIRST}, $1, 1)`],
    0,
  ],
  [
    'a pace that was counted in an earlier minute',
    [
      `insert into domain_paces (domain_id, account_id, per_minute, minute, used)
       values (${FIRST}, $1, 1, now() - interval '1 hour', 7)`,
    ],
    0,
  ],
  [
    'an exemption from the pace of all domains',
    [`insert into domain_paces (domain_id, account_id, per_minute) values (${FIRST}, $1, 0)`],
    1,
  ],
  ['a warm-up, and the pace of all domains', [WARM_UP], 1],
] as const)('with %s', async (_name, setUp, perMinute) => {
  for (const sql of setUp) await change(sql);
  await queue();
  expect((await take(perMinute))?.claims).toHaveLength(4);
  const short = await counted();

  // Claims that are given back keep their places.
  await change('update send_queue set owner = null where account_id = $1');
  expect((await take(perMinute))?.claims).toHaveLength(4);
  expect(await counted()).toEqual(short);

  await forget();
  for (const sql of setUp) await change(sql);
  await queue();
  expect(await claim(perMinute)).toHaveLength(4);
  expect(await counted()).toEqual(short);
});
