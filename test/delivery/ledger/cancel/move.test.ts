// A scheduled message moves to another time with all that follows from it, unless its time has come.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { cancelTransactional } from '../../../../src/delivery/ledger/cancel/cancel.ts';
import { moveScheduled } from '../../../../src/delivery/ledger/cancel/move.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { queueLetter } from '../../../support/letters.ts';
import { insertAccount, insertSender, queueEmails, type QueuedAccount } from '../../../support/queued.ts';
import { inMinutes, schedule } from '../../../support/scheduled.ts';

const SPACE = 'POST /v1/my/messages';

let test: TestDatabase;
let of: QueuedAccount;

const query = <Row extends object>(text: string, ...values: unknown[]) =>
  test.database.pool.query<Row>(text, values);

beforeAll(async () => {
  test = await createTestDatabase({ keyedPlans: true });
  await insertSender(test.database, 72);
});
afterAll(() => test.drop());
beforeEach(async () => {
  of = await insertAccount(test.database);
});

const move = (ids: readonly number[], time: Date) =>
  inTransaction(test.database.pool, (trx) => moveScheduled(trx, of.accountId, ids, time, [SPACE]));

const rowsOf = async (ids: readonly number[]) =>
  (
    await query<{ scheduled_at: Date; due_at: Date; queued_at: Date }>(
      `select scheduled_at, due_at, queued_at from messages join send_queue on message_id = id where id = any($1) order by id`,
      ids,
    )
  ).rows;

describe('a scheduled message', () => {
  it('moves with its queue row and the time for which its key is kept, which never becomes shorter', async () => {
    const [id = 0] = await queueEmails(test.database, of, 1);
    await schedule(test.database.pool, [id], inMinutes(60));
    await query(
      `with m as (update messages set idempotency_key = 'k' where id = $2)
       insert into idempotency_keys (brand_id, endpoint, key, fingerprint, status, resource_id, created_at)
       values ($1, '${SPACE}', 'k', '', 201, $2, now() + interval '73 hours'), ($1, 'other', 'k', '', 201, $2, now())`,
      of.brandId,
      id,
    );
    const kept = async () =>
      (
        await query<{ hours: number }>(
          `select round(extract(epoch from created_at - now()) / 3600)::int as hours from idempotency_keys
           where brand_id = $1 order by endpoint`,
          of.brandId,
        )
      ).rows.map(({ hours }) => hours);
    const later = inMinutes(120);
    expect(await move([id], later)).toEqual([{ id, outcome: 'moved', queue: 'email', provider: 0 }]);
    expect(await rowsOf([id])).toEqual([{ scheduled_at: later, due_at: later, queued_at: later }]);
    expect(await kept()).toEqual([74, 0]);
    await move([id], inMinutes(30));
    expect(await kept()).toEqual([74, 0]);
  });

  it('is due at once if the time has passed', async () => {
    const [id = 0] = await queueEmails(test.database, of, 1);
    await schedule(test.database.pool, [id], inMinutes(60));
    await move([id], inMinutes(-60));
    const [row] = await rowsOf([id]);
    const { rows } = await query(
      'select $1::timestamptz between now() - interval $q$1 minute$q$ and now() as now',
      row?.due_at,
    );
    expect(rows).toEqual([{ now: true }]);
    expect(row?.queued_at).toEqual(row?.due_at);
    expect(row?.scheduled_at).toEqual(row?.due_at);
  });

  it.each([
    ['its time has come', (id: number) => schedule(test.database.pool, [id], inMinutes(-1))],
    ['it is held', (id: number) => query(`update messages set status = 'held' where id = $1`, id)],
    [
      'it is of a flow',
      (id: number) => query('update messages set class = 1, flow_id = 1 where id = $1', id),
    ],
    [
      'it was sent',
      (id: number) =>
        query(`with q as (delete from send_queue) update messages set status = 'sent' where id = $1`, id),
    ],
  ])('stays where it is if %s', async (_name, prepare) => {
    const [id = 0] = await queueEmails(test.database, of, 1);
    await schedule(test.database.pool, [id], inMinutes(60));
    await prepare(id);
    const before = await rowsOf([id]);
    expect(await move([id], inMinutes(90))).toMatchObject([{ id, outcome: 'not_scheduled' }]);
    expect(await rowsOf([id])).toEqual(before);
  });
});

it('moves all copies of a letter but those that ended unsent, or none', async () => {
  const recipients = ['a', 'b', 'c'].map((name) => ({ kind: 'to' as const, address: `${name}@example.com` }));
  const ids = await queueLetter(test.database, of, { recipients });
  await schedule(test.database.pool, ids, inMinutes(60));
  await inTransaction(test.database.pool, (trx) =>
    cancelTransactional(trx, of.accountId, ids.slice(0, 1), { reason: 'x', recall: false }),
  );
  const outcomesOf = async (time: Date) => (await move(ids, time)).map(({ outcome }) => outcome);
  const later = inMinutes(90);
  expect(await outcomesOf(later)).toEqual(['ended', 'moved', 'moved']);
  expect((await rowsOf(ids)).map(({ due_at: at }) => at)).toEqual([later, later]);
  await schedule(test.database.pool, ids.slice(2), inMinutes(-1));
  expect(await outcomesOf(inMinutes(120))).toEqual(['ended', 'moved', 'not_scheduled']);
  expect((await rowsOf(ids))[0]?.due_at).toEqual(later);
});

it('moves the outcome of a message of a test key', async () => {
  const [id = 0] = await queueEmails(test.database, of, 1);
  await query(
    `with q as (delete from send_queue where message_id = $1), m as (update messages set test = true, provider = 'test' where id = $1)
     insert into test_messages (message_id, account_id, ends_at) values ($1, $2, now() + interval '1 hour')`,
    id,
    of.accountId,
  );
  const later = inMinutes(90);
  expect(await move([id], later)).toEqual([{ id, outcome: 'moved', queue: null, provider: null }]);
  expect((await query('select ends_at from test_messages where message_id = $1', id)).rows).toEqual([
    { ends_at: later },
  ]);
});
