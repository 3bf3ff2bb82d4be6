// Each loop of the worker runs as soon as its table has work: the condition that its pulse evaluates finds it.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import type pg from 'pg';
import { loadConfig } from '../../src/config.ts';
import { startUsageCounts } from '../../src/features/accounts/usage-loop.ts';
import { startListFills } from '../../src/features/campaigns/list-fills.ts';
import { startOptOutWalk } from '../../src/features/contacts/opt-out-walk.ts';
import { startContactRemoval } from '../../src/features/contacts/removal-work.ts';
import { startFlowCounts } from '../../src/features/flows/counts-loop.ts';
import { startFlowEntries } from '../../src/features/flows/entry/loop.ts';
import { startFlowChanges } from '../../src/features/flows/run/changes.ts';
import { startHeaderSealing } from '../../src/features/flows/seal-plain.ts';
import { startListUpkeep } from '../../src/features/lists/loop.ts';
import { startStatCounts } from '../../src/features/stats/fold.ts';
import { startSecretRemoval } from '../../src/features/system-mail/secrets.ts';
import { startTracking } from '../../src/features/tracking/loop.ts';
import { startPasswordResets } from '../../src/features/users/reset-loop.ts';
import { createDispatcher } from '../../src/platform/outbox/dispatcher.ts';
import { conditionsStatement, type Pulse } from '../../src/platform/processes/pulse.ts';
import type { Repeating } from '../../src/platform/processes/repeat.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let db: TestDatabase;
/** The conditions of the loops, by a name for each. */
const conditions = new Map<string, string>();

/** Notes the conditions instead of looking. @param names of the loops, in the order in which they are started */
function notingPulse(...names: string[]): Pulse {
  const note = (waiting: string) => void conditions.set(names.shift() ?? 'a loop without a name', waiting);
  const idle: Repeating = { wake: () => undefined, stop: () => Promise.resolve() };
  return {
    watch(waiting) {
      note(waiting);
      return () => undefined;
    },
    repeat({ waiting }) {
      note(waiting);
      return idle;
    },
    stop: () => Promise.resolve(),
  };
}

/** A value of a column whose type is given. */
const valueOf = (type: string): string => {
  if (/int|numeric|double/.test(type)) return '1';
  if (/timestamp|date/.test(type)) return 'now()';
  if (type === 'boolean') return 'false';
  if (/json/.test(type)) return `'{}'`;
  if (type === 'bytea') return `'\\x00'`;
  return `'text'`;
};

/** Inserts a row that has the given columns, and any values in the others that need one. */
async function insertRow(client: pg.PoolClient, table: string, given: Record<string, string>): Promise<void> {
  const { rows } = await client.query<{ name: string; type: string }>(
    `select column_name as name, data_type as type from information_schema.columns
     where table_schema = 'public' and table_name = $1 and is_nullable = 'NO' and column_default is null
       and is_identity = 'NO'`,
    [table],
  );
  const values = { ...Object.fromEntries(rows.map(({ name, type }) => [name, valueOf(type)])), ...given };
  await client.query(
    `insert into ${table} (${Object.keys(values).join(', ')}) values (${Object.values(values).join(', ')})`,
  );
}

/** @returns the names of the conditions that are true while the database has one more row */
async function trueWith(table: string, given: Record<string, string>): Promise<string[]> {
  const client = await db.database.pool.connect();
  try {
    await client.query('begin');
    // Rows need no other rows, and cause no others.
    await client.query('set local session_replication_role = replica');
    await insertRow(client, table, given);
    const { text } = conditionsStatement([...conditions.values()]);
    const { rows } = await client.query<{ are: boolean[] }>(text);
    return [...conditions.keys()].filter((_, n) => rows[0]?.are[n]);
  } finally {
    await client.query('rollback');
    client.release();
  }
}

beforeAll(async () => {
  db = await createTestDatabase();
  const { database } = db;
  const { pool } = database;
  const log = pino({ level: 'silent' });
  const waker = { wake: () => undefined, listen: () => () => undefined, close: () => Promise.resolve() };
  const shared = { pool, waker, log };
  // Loops that the pulse does not start need nothing else.
  const unused = {} as never;
  const loops = [
    createDispatcher({
      database,
      client: unused,
      waker,
      pulse: notingPulse('requests', 'bulk requests'),
      log,
    }),
    startFlowEntries({ ...shared, pulse: notingPulse('flow fills', 'flow entries') }),
    startTracking({
      ...shared,
      pulse: notingPulse('fetches'),
      egress: unused,
      keyring: unused,
      events: unused,
    }),
  ];
  startListUpkeep({ pool, pulse: notingPulse('lists') });
  startListFills({ pool, pulse: notingPulse('list fills') });
  startContactRemoval({ ...shared, pulse: notingPulse('removals') });
  startOptOutWalk({ ...shared, pulse: notingPulse('opt-outs'), keyring: unused, plusAddresses: false });
  startFlowChanges({ ...shared, pulse: notingPulse('flow changes'), versions: unused });
  startHeaderSealing({ pool, pulse: notingPulse('plain headers'), keyring: unused });
  startFlowCounts({ ...shared, pulse: notingPulse('flow counts'), events: unused, thresholds: unused });
  startUsageCounts({ pool, pulse: notingPulse('usage') });
  startStatCounts({ pool, pulse: notingPulse('stats') });
  startPasswordResets({ ...shared, pulse: notingPulse('resets'), config: loadConfig({}) });
  startSecretRemoval({ pool, pulse: notingPulse('secrets') });
  for (const loop of loops) await loop.stop();
});
afterAll(() => db.drop());

const LATER = `now() + interval '1 minute'`;
const EARLIER = `now() - interval '2 minutes'`;

interface WorkerQueue {
  name: string;
  table: string;
  /** Columns of a row that starts the loop. */
  due: Record<string, string>;
  /** Columns of a row that does not start it yet, or no longer does. */
  notDue?: Record<string, string>;
}

const signal = { kind: `'signal'`, priority: '1' };
const bulk = { ...signal, priority: '2' };
const fetched = { due_at: 'null', fetched_at: `now() - interval '1 year'` };
const archive = { change: `'archive'` };
const hold = { change: `'hold'` };

const queues: WorkerQueue[] = [
  { name: 'requests', table: 'outbox', due: signal, notDue: { ...signal, leased_until: LATER } },
  { name: 'bulk requests', table: 'outbox', due: bulk, notDue: { ...bulk, leased_until: LATER } },
  { name: 'flow fills', table: 'flow_fills', due: {} },
  { name: 'flow entries', table: 'flow_entries', due: {}, notDue: { retry_at: LATER } },
  { name: 'flow entries', table: 'flow_entries', due: { retry_at: EARLIER } },
  { name: 'fetches', table: 'tracking_fetches', due: { due_at: EARLIER }, notDue: { due_at: LATER } },
  { name: 'fetches', table: 'tracking_fetches', due: fetched, notDue: { due_at: 'null' } },
  { name: 'lists', table: 'audience_count_changes', due: {} },
  { name: 'lists', table: 'lists', due: { removed_at: 'now()' }, notDue: {} },
  { name: 'list fills', table: 'campaign_list_fills', due: {}, notDue: { finished_at: 'now()' } },
  { name: 'removals', table: 'contact_removals', due: { due_at: EARLIER }, notDue: { due_at: LATER } },
  { name: 'opt-outs', table: 'opt_out_walks', due: { due_at: EARLIER }, notDue: { due_at: LATER } },
  {
    name: 'opt-outs',
    table: 'unapplied_opt_outs',
    due: { begins_at: EARLIER },
    notDue: { begins_at: LATER },
  },
  {
    name: 'opt-outs',
    table: 'unapplied_opt_outs',
    due: { lap: '1', applied_at: EARLIER },
    notDue: { lap: '1', applied_at: 'now()' },
  },
  {
    name: 'flow changes',
    table: 'flow_changes',
    due: { ...archive, due_at: EARLIER },
    notDue: { ...archive, due_at: LATER },
  },
  {
    name: 'flow changes',
    table: 'flow_message_changes',
    due: { ...hold, due_at: EARLIER },
    notDue: { ...hold, due_at: LATER },
  },
  {
    name: 'plain headers',
    table: 'flow_versions',
    due: { steps: `'[{"type": "webhook", "id": 1, "headers": {"a": "b"}}]'` },
    notDue: { steps: `'[{"type": "sealed_webhook", "id": 1, "headers": {"a": "b"}}]'` },
  },
  { name: 'flow counts', table: 'flow_count_changes', due: {} },
  {
    name: 'flow counts',
    table: 'flow_outcomes',
    due: { unjudged: 'true' },
    notDue: { unjudged: 'false' },
  },
  { name: 'usage', table: 'usage_changes', due: {} },
  { name: 'stats', table: 'stat_changes', due: { message_id: 'null' } },
  { name: 'resets', table: 'password_reset_requests', due: {} },
  { name: 'secrets', table: 'secret_mails', due: {} },
];

describe('the pulse of the worker', () => {
  it('has a condition for each of these loops', () => {
    expect([...conditions.keys()]).toEqual([...new Set(queues.map(({ name }) => name))]);
  });

  it('starts none of them without work', async () => {
    const { text } = conditionsStatement([...conditions.values()]);
    const { rows } = await db.database.pool.query<{ are: boolean[] }>(text);
    expect(rows[0]?.are).toEqual([...conditions].map(() => false));
  });

  it.each(queues)('starts the loop of $name for a row of $table', async ({ name, table, due, notDue }) => {
    expect(await trueWith(table, due)).toEqual([name]);
    if (notDue) expect(await trueWith(table, notDue)).toEqual([]);
  });
});
