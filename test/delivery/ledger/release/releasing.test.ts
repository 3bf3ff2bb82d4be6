// All held mail of a resumed account is released, even if the sender that releases it dies.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import { claimBacklog } from '../../../../src/delivery/ledger/claim/claim.ts';
import { startReleasing } from '../../../../src/delivery/ledger/release/releasing.ts';
import { pauseSending, resumeSending } from '../../../../src/features/accounts/service.ts';
import type { Database } from '../../../../src/platform/db/database.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { eventually } from '../../../support/eventually.ts';
import { insertAccount, insertSender, queueEmails, statusCounts } from '../../../support/queued.ts';
import { testPulse } from '../../../support/pulse.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';

const OWNER = 90;
const HELD = 50_000;

let test: TestDatabase;
/** Plans statements as a sender's database does. */
let database: Database;

beforeAll(async () => {
  test = await createTestDatabase({ keyedPlans: true });
  ({ database } = test);
  await insertSender(database, OWNER);
});
afterAll(() => test.drop());

/** Writes held messages of a paused account, as many claims would leave them. */
async function holdMessages(accountId: number, brandId: number): Promise<void> {
  await test.database.pool.query(
    `with m as (
       insert into messages (id, account_id, brand_id, channel, class, status, to_address, to_key, hold)
       select nextval('messages_id_seq'), $1, $2, 'email', 0, 'held', 'a@example.com', 'a@example.com',
         '{"reason": "account_paused", "until": null}'
       from generate_series(1, $3) returning id
     ), b as (
       insert into held_backlogs (account_id, channel, class, recheck_at)
       values ($1, 'email', 0, now() + interval '5 minutes')
     )
     insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, held)
     select id, $1, 'email', 0, now() + interval '72 hours 1 second', now(), true from m`,
    [accountId, brandId, HELD],
  );
}

it('releases all mail of a resumed account while others claim, even if the releasing sender dies', async () => {
  const { accountId, brandId } = await insertAccount(test.database);
  const other = await insertAccount(test.database);
  await pauseSending(test.database.pool, accountId, 'too many complaints');
  await holdMessages(accountId, brandId);
  await queueEmails(test.database, other, 1_000);
  await resumeSending(test.database.pool, accountId);
  expect(await statusCounts(test.database, accountId)).toEqual({ held: HELD });

  const woken = new Set<string>();
  const deps = {
    pool: database.pool,
    waker: {
      wake: (_channel: string, names?: readonly string[]) => names?.forEach((name) => woken.add(name)),
    },
    limits: TEST_LIMITS,
    pulse: testPulse(database.pool),
  };
  const first = startReleasing(deps);
  await eventually(async () =>
    expect((await statusCounts(test.database, accountId)).queued).toBeGreaterThan(0),
  );
  await first.stop();
  const partly = await statusCounts(test.database, accountId);
  expect(partly.held).toBeGreaterThan(0);

  const second = startReleasing(deps);
  const backlog = { channel: 'email', class: messageClasses.transactional } as const;
  for (let claimed = 0; claimed < 1_000;) {
    const request = { ...backlog, accountId: other.accountId, owner: OWNER, quantum: 100 };
    const claims = await claimBacklog(database.pool, request, TEST_LIMITS);
    expect(claims.length).toBeGreaterThan(0);
    claimed += claims.length;
  }
  await eventually(
    async () => expect(await statusCounts(test.database, accountId)).toEqual({ queued: HELD }),
    90_000,
  );
  await second.stop();
  expect(woken).toEqual(new Set([`email/0/${accountId}`]));
  const due = await test.database.pool.query(
    'select 1 from send_queue where account_id = $1 and (held or due_at > now())',
    [accountId],
  );
  expect(due.rowCount).toBe(0);
}, 180_000);
