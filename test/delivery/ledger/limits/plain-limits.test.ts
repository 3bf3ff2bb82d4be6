// A new limit needs only a row in the table to be obeyed by the short way of plain messages.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { limits, type Limits } from '../../../../src/delivery/ledger/limits/authority.ts';
import type {
  AcceptRule,
  ClaimRule,
  Condition,
  Limit,
  Quota,
} from '../../../../src/delivery/ledger/limits/limit.ts';
import { takePlain, takePlainMessages } from '../../../../src/delivery/ledger/claim/take.ts';
import type { Database } from '../../../../src/platform/db/database.ts';
import { createFunctions } from '../../../../src/platform/db/sql/install.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertAccount, insertSender, queueEmails, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';

/** Limits as later features will declare them: one file and one line of the table each. */

const OWNER = 90;
const LIMIT = 2;

/** Holds all messages of an account. */
const silence = {
  name: 'silence',
  title: 'the account is silent',
  plain: 'stands down',
  condition: { reads: 'account', sql: `a.name = 'Silent'` },
  claim: { effect: 'hold', until: `a.created_at + interval '9 hours'` },
} as const satisfies Limit;

/** Refuses messages to one domain, on one day of the week. */
const mondays = {
  name: 'mondays',
  title: 'no mail to this domain on Mondays',
  plain: 'decided',
  condition: {
    reads: 'message',
    // Its Monday is the day on which the message was created.
    sql: `m.to_key like '%@closed.example' and extract(isodow from now()) = extract(isodow from m.created_at)`,
  },
  handOver: { effect: 'release' },
} as const satisfies Limit;

/** Reads a column of the queue row. */
const quietHours = {
  name: 'quiet_hours',
  title: 'the recipient sleeps',
  plain: 'decided',
  queueColumns: ['claim_epoch'],
  condition: { reads: 'queue', sql: 'q.claim_epoch = 7' },
  claim: { effect: 'hold', until: `q.queued_at + interval '8 hours'` },
} as const satisfies Limit;

/** Lets some messages go, for each sender. */
const senderShare = {
  name: 'sender_share',
  title: 'messages of a new sender',
  plain: 'stands down',
  // Campaigns have a column `options`, which must not be taken for the settings.
  figures: (setting) =>
    `select places as "limit", 0 as used, case when a.name = 'Few' then places else 50 end as remaining,
       null::timestamptz as resets_at from (
         select max(${setting('sender_share')}) as places from (select a.id) s left join campaigns c on c.account_id = s.id) f`,
  quota: { counts: 'true', per: 'q.message_id % 2' },
  claim: { effect: 'hold', until: null, recheck: `interval '1 minute'` },
} as const satisfies Limit;

/** Counts transactional messages, and holds others. */
const tally = {
  name: 'tally',
  title: 'campaigns of an account',
  plain: 'never holds',
  figures: () =>
    `select 3 as "limit", 0 as used, 3 as remaining, null::timestamptz as resets_at, a.id as tallied`,
  quota: { counts: 'q.claim_epoch = 0', holds: 'q.class <> 0' },
  claim: { effect: 'hold', until: null, recheck: `interval '1 minute'` },
  reservation: {
    columns: [{ name: 'price_units', value: '5::smallint' }],
    take: (rows) => [
      {
        name: 'tally_taken',
        sql: `
          insert into sandbox_usage (account_id, month, used)
          select tally.tallied, date '2000-01-01', count(*) from tally cross join ${rows} group by 1`,
      },
    ],
  },
} as const satisfies Limit;

/** POST /messages refuses its messages. Those that were accepted before fail, whatever their claim has decided. */
const debt = {
  name: 'debt',
  title: 'the account is in debt',
  plain: 'stands down',
  refusal: { code: 'insufficient_funds', message: 'the account is in debt' },
  condition: { reads: 'account', sql: `a.name = 'In debt'` },
  handOver: { effect: 'fail', code: 'insufficient_funds', message: 'the account is in debt' },
} as const satisfies Limit;

const table: Limits = [silence, mondays, quietHours, senderShare, tally, debt, ...limits];

let test: TestDatabase;
let database: Database;
let account: QueuedAccount;
let seq = 0;

beforeAll(async () => {
  test = await createTestDatabase({ keyedPlans: true });
  ({ database } = test);
  await insertSender(database, OWNER);
  await createFunctions(database.pool, [takePlain.filled(table)]);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(database, 1_000);
});

const change = (sql: string) => database.pool.query(sql, [account.accountId]);

async function takenIds(messages: number): Promise<number[] | null> {
  const request = {
    ...{ owner: OWNER, seq: ++seq, provider: 'smtp', reportSeconds: 7 },
    ...{ accountId: account.accountId, providerId: 0, messages },
  };
  const settings = { ...TEST_LIMITS, suppress_plus_addresses: 0, sender_share: LIMIT };
  const taken = await takePlainMessages(database.pool, request, settings, table);
  return taken?.claims.map(({ messageId }) => messageId) ?? null;
}

/** Whether the types accept a limit with these fields. */
type Accepts<Fields> = { name: string; title: string } & Fields extends Limit ? true : false;

type Refusing = Pick<typeof debt, 'plain' | 'condition' | 'refusal'>;

it('is required of a limit, and must fit it', () => {
  const accepted: [
    withoutPlain: Accepts<{ accept: AcceptRule }>,
    unasked: Accepts<{ plain: 'never holds'; condition: Condition }>,
    unknown: Accepts<{ plain: 'decided'; accept: AcceptRule }>,
    ofAccount: Accepts<{ plain: 'decided'; condition: { reads: 'account'; sql: string } }>,
    ofQuota: Accepts<{ plain: 'decided'; condition: { reads: 'queue'; sql: string }; quota: Quota }>,
    holding: Accepts<{ plain: 'never holds'; quota: { counts: string }; claim: ClaimRule }>,
    withoutFigures: Accepts<{ plain: 'stands down'; quota: { counts: string } }>,
    withoutEnd: Accepts<Refusing & { handOver: { effect: 'release' } }>,
    failing: Accepts<Refusing & { handOver: (typeof debt)['handOver'] }>,
    atAccept: Accepts<{ plain: 'never holds'; accept: AcceptRule }>,
  ] = [false, false, false, false, false, false, false, false, true, true];
  expect(accepted).toHaveLength(10);
});

it.each(
  (limits as Limits).filter(({ plain, quota }) => plain === 'never holds' && quota?.holds !== undefined),
)('$name holds no transactional message', async ({ quota }) => {
  const { rows } = await database.pool.query<{ holds: boolean }>(
    `select ${quota?.holds} as holds from (select 0::smallint as class, 'email' as channel) q`,
  );
  expect(rows).toEqual([{ holds: false }]);
});

it('lets messages go that no limit holds', async () => {
  const ids = await queueEmails(database, account, 3);
  expect(await takenIds(50)).toEqual(ids);
});

it('takes nothing of an account that a limit holds', async () => {
  await queueEmails(database, account, 2);
  await change(`update accounts set name = 'Silent' where id = $1`);
  expect(await takenIds(50)).toBeNull();
  await change(`update accounts set name = 'Loud' where id = $1`);
  expect(await takenIds(50)).toHaveLength(2);
});

it('takes nothing of an account whose messages fail before hand-over, although no claim holds them', async () => {
  await queueEmails(database, account, 2);
  await change(`update accounts set name = 'In debt' where id = $1`);
  expect(await takenIds(50)).toBeNull();
  await change(`update accounts set name = 'Solvent' where id = $1`);
  expect(await takenIds(50)).toHaveLength(2);
});

it('takes nothing if a limit that reads the message applies to one of them', async () => {
  const [, second = 0] = await queueEmails(database, account, 3);
  const move = (to: string) =>
    database.pool.query('update messages set to_key = $2, created_at = now() where id = $1', [second, to]);
  await move('ada@closed.example');
  expect(await takenIds(50)).toBeNull();
  await move('ada@open.example');
  expect(await takenIds(50)).toHaveLength(3);
});

it('takes nothing if a limit that reads the queue row applies to one of them', async () => {
  const [first = 0, second] = await queueEmails(database, account, 2);
  await database.pool.query('update send_queue set claim_epoch = 7 where message_id = $1', [second]);
  expect(await takenIds(50)).toBeNull();
  expect(await takenIds(1)).toEqual([first]);
});

it('takes nothing unless a quota certainly has room', async () => {
  await queueEmails(database, account, 2);
  await change(`update accounts set name = 'Few' where id = $1`);
  expect(await takenIds(LIMIT + 1)).toBeNull();
  expect(await takenIds(LIMIT)).toHaveLength(LIMIT);
});

it('counts messages in limits that never hold them', async () => {
  const [first] = await queueEmails(database, account, 3);
  await database.pool.query('update send_queue set claim_epoch = 1 where message_id = $1', [first]);
  expect(await takenIds(50)).toHaveLength(3);
  const { rows } = await change(
    `select used, (select array_agg(price_units order by message_id) from send_queue where account_id = $1) as units
     from sandbox_usage where account_id = $1`,
  );
  expect(rows).toEqual([{ used: 2, units: [null, 5, 5] }]);
});
