import { createBacklogs } from '../../src/delivery/sender/turns/backlogs.ts';
import { queueEmails } from '../support/queued.ts';
import { inMinutes, schedule } from '../support/scheduled.ts';
import { median, rounded } from './machine.ts';
import { drained } from './messages.ts';
import { repeatRuns } from './runs.ts';
import { openStage, type Stage } from './stage.ts';

export interface ScheduledBenchOptions {
  runs: number;
  backlog: number;
  /** Number of scheduled messages of the account; a tenth as many other accounts have one each. */
  scheduled: number;
  links: number;
}

/** Later than any run. */
const AHEAD_MINUTES = 24 * 60;
const WALKS = 20;

interface Accounts {
  accountIds: number[];
  brandIds: number[];
}

async function insertAccounts({ database }: Stage, count: number): Promise<Accounts> {
  const { rows } = await database.pool.query<Accounts>(
    `with a as (
       insert into accounts (name, tier) select 'Account ' || n, 'trusted' from generate_series(1, $1::int) n returning id),
     c as (insert into account_counters (account_id) select id from a),
     b as (insert into brands (account_id) select id from a returning id, account_id)
     select array_agg(account_id order by id) as "accountIds", array_agg(id order by id) as "brandIds" from b`,
    [count],
  );
  return rows[0] ?? { accountIds: [], brandIds: [] };
}

async function addScheduled(stage: Stage, count: number, { accountIds, brandIds }: Accounts): Promise<void> {
  const { pool } = stage.database;
  const ids = await queueEmails(stage.database, stage, count + accountIds.length);
  await schedule(pool, ids, inMinutes(AHEAD_MINUTES));
  const theirs = [ids.slice(count), accountIds, brandIds];
  const given = 'unnest($1::bigint[], $2::bigint[], $3::bigint[]) as g (id, account_id, brand_id)';
  await pool.query(
    `update messages m set account_id = g.account_id, brand_id = g.brand_id from ${given} where m.id = g.id`,
    theirs,
  );
  await pool.query(
    `update send_queue q set account_id = g.account_id from ${given} where q.message_id = g.id`,
    theirs,
  );
}

/** The time that a sender takes to look at all backlogs. */
async function walkMs({ database }: Stage): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < WALKS; n += 1) {
    const backlogs = createBacklogs(database.pool);
    const startedAt = performance.now();
    await backlogs.refresh();
    times.push(performance.now() - startedAt);
  }
  return rounded(median(times), 2);
}

/** `npm run bench -- messages --scheduled`: messages drained beside scheduled ones and without, in turn. */
export async function benchScheduled(options: ScheduledBenchOptions) {
  const stage = await openStage();
  try {
    const accounts = await insertAccounts(stage, Math.ceil(options.scheduled / 10));
    const beside = async () => {
      const drain = await drained(stage, options, () => addScheduled(stage, options.scheduled, accounts));
      return { ...drain, walk_ms: await walkMs(stage) };
    };
    const { runs, of } = await repeatRuns(options.runs, async () => ({
      alone: await drained(stage, options),
      beside: await beside(),
    }));
    return {
      medians: {
        alone_per_second: of((run) => run.alone.messages_per_second),
        beside_per_second: of((run) => run.beside.messages_per_second),
        share: of((run) => run.beside.messages_per_second / run.alone.messages_per_second),
        walk_ms: of((run) => run.beside.walk_ms),
      },
      runs,
    };
  } finally {
    await stage.close();
  }
}
