// A sender leaves a queue that it does not know alone: it belongs to messages of a later version.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pino from 'pino';
import { createFailOver } from '../../../../src/delivery/sender/failover/fail-over.ts';
import { createFollowProviders } from '../../../../src/delivery/sender/loop/named-shares.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { eventually } from '../../../support/eventually.ts';
import { testPulse } from '../../../support/pulse.ts';
import { insertAccount, queueEmails } from '../../../support/queued.ts';
import { startTestSender } from '../../../support/sending.ts';
import { acceptingChannels } from '../../../support/ways-out.ts';

const REMOVED = 77;
const HALF_AN_HOUR = "now() + interval '30 minutes'";

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

const query = (text: string, ...values: unknown[]) =>
  test.database.pool.query(text, values).then(({ rows }) => rows as unknown[]);

it('neither claims, holds, moves nor releases its messages', async () => {
  const { database } = test;
  const { pool } = database;
  const account = await insertAccount(database);
  const known = await insertAccount(database);
  const ids = await queueEmails(database, account, 3);
  // One waits for a provider that was removed, and one is held with its backlog.
  await query(
    `update send_queue set channel = 'email_later', due_at = case when message_id = $2 then ${HALF_AN_HOUR} else due_at end,
       held = message_id = $2, provider_id = case when message_id = $3 then ${REMOVED} else 0 end
     where message_id = any($1)`,
    ...[ids, ids[0], ids[1]],
  );
  await query(`update messages set status = 'held', hold = '{"reason": "allowance"}' where id = $1`, ids[0]);
  await query(
    `insert into held_backlogs (account_id, channel, class, provider_id, recheck_at)
     values ($1, 'email_later', 0, 0, now())`,
    account.accountId,
  );
  const read = () =>
    query(
      `select q.*, m.status from send_queue q join messages m on m.id = q.message_id where q.account_id = $1 order by 1`,
      account.accountId,
    );
  const before = await read();
  // Rounds of the fail-over go on while there is a named provider.
  await query(`insert into providers (name, kind, channel, settings_sealed, callback_token_sealed, callback_digest)
    values ('other', 'smtp', 'email', '', '', '')`);
  const left: number[] = [];
  const log = pino({ level: 'silent' });
  let rounds = 0;
  const failOver = createFailOver({ pool, waker: { wake: () => undefined }, log, outageMs: 1 });
  const sender = await startTestSender({
    ...{ url: test.url, port: 0, channels: acceptingChannels((id) => left.push(id)) },
    followProviders: createFollowProviders({
      ...{ pool, log, intervalMs: 20, pulse: testPulse(pool, { intervalMs: 20 }) },
      open: () => {
        throw new Error('none');
      },
      async failOver(view) {
        await failOver(view);
        rounds += 1;
      },
    }),
  });
  try {
    for (const share of ['email_later', 'email_later:77'])
      await query(`select pg_notify('carillon_send', $1)`, `${share}/0/${account.accountId}`);
    // A message of the removed provider moves, so the sender has looked.
    const [moved = 0] = await queueEmails(database, known, 1);
    await query('update send_queue set provider_id = $2 where message_id = $1', moved, REMOVED);
    for (let n = 0; n < 3; n += 1) {
      const [last = 0] = await queueEmails(database, known, 1);
      await eventually(() => expect(left).toContain(last));
    }
    const roundsSoFar = rounds;
    await eventually(() => expect(rounds).toBeGreaterThan(roundsSoFar + 3));
    expect(left).toContain(moved);
  } finally {
    await sender.stop();
  }
  expect(await read()).toEqual(before);
  expect(left.filter((id) => ids.includes(id))).toEqual([]);
});
