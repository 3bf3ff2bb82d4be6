/** Scheduled messages of test keys, which get their outcome at their time. They are in no queue. */
import type pg from 'pg';
import { testOutcome } from '../../delivery/ledger/accept/test-messages.ts';
import type { Channel } from '../../delivery/terms/message.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import type { Pulse } from '../../platform/processes/pulse.ts';
import type { Repeating } from '../../platform/processes/repeat.ts';

const AT_ONCE = 500;

interface DueTest {
  id: number;
  channel: Channel;
  /** Null: its contact was removed. */
  to_key: string | null;
}

/** Locks messages whose time has come, but for those that a request is changing. */
async function lockDue(trx: Queryable): Promise<DueTest[]> {
  const { rows } = await trx.query<DueTest>(
    `select m.id, m.channel, m.to_key from messages m
     where m.id = any(array(select message_id from test_messages where ends_at <= now() order by ends_at limit $1))
     order by m.id for no key update skip locked`,
    [AT_ONCE],
  );
  return rows;
}

/** What `test_messages` says once the messages are locked: one may have been moved or canceled before. */
async function takeDue(trx: Queryable, locked: readonly DueTest[]): Promise<Set<number>> {
  const { rows } = await trx.query<{ id: number }>(
    `update test_messages set ends_at = null where message_id = any($1) and ends_at <= now() returning message_id as id`,
    [locked.map(({ id }) => id)],
  );
  return new Set(rows.map(({ id }) => id));
}

/**
 * Gives messages of test keys whose time has come the outcomes that others get when they are accepted.
 * @returns their number
 */
export function endScheduledTests(pool: pg.Pool): Promise<number> {
  return inTransaction(pool, async (trx) => {
    const locked = await lockDue(trx);
    if (locked.length === 0) return 0;
    const due = await takeDue(trx, locked);
    const ended = locked.flatMap(({ id, channel, to_key: key }) =>
      due.has(id) ? { id, ...testOutcome({ channel, to_key: key ?? '' }) } : [],
    );
    if (ended.length === 0) return 0;
    const ids = ended.map(({ id }) => id);
    await trx.query(
      `with outcomes as materialized (
         select * from json_to_recordset($1) as o (id bigint, status text, sent_at timestamptz, delivered_at timestamptz,
           failure jsonb, bounce jsonb, events jsonb)
       ), noted as (
         insert into message_events (message_id, attempt, type)
         select o.id, 1, e.type from outcomes o cross join jsonb_array_elements_text(o.events) as e (type)
       )
       update messages m set status = o.status, sent_at = o.sent_at, delivered_at = o.delivered_at, failure = o.failure,
         bounce = o.bounce, updated_at = now()
       from outcomes o where m.id = o.id and m.id between $2 and $3 and m.status = 'queued'`,
      [JSON.stringify(ended), Math.min(...ids), Math.max(...ids)],
    );
    return ended.length;
  });
}

/** Ends scheduled messages of test keys, within a second of their time. Any number of processes may run this. */
export function startScheduledTests({ pool, pulse }: { pool: pg.Pool; pulse: Pulse }): Repeating {
  const queue = {
    name: 'ending scheduled messages of test keys',
    waiting: 'exists (select from test_messages where ends_at <= now())',
  };
  return pulse.repeat(queue, async () => (await endScheduledTests(pool)) > 0);
}
