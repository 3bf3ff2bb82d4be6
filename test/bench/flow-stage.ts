/** What the measurements of flows share: contacts, flows, events, and the progress of runs. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineServer } from '../../src/local/engine/server.ts';
import type { CountingServer } from '../support/smtp/counting-server.ts';
import { ask } from './ask.ts';
import { rounded } from './machine.ts';
import { usageOf, type Usage } from './process-usage.ts';
import type { Measured } from './programs.ts';
import type { Stage } from './stage.ts';

export const LIMIT_MS = 60 * 60_000;
const EVENTS_AT_ONCE = 500;

export interface Running {
  api: Measured;
  workers: Measured[];
  sender: Measured;
  engine: EngineServer;
  smtp: CountingServer;
  /** When the first mail to an address arrived. */
  arrivals: Map<string, number>;
}

export const email = (subject: string) => ({
  type: 'email',
  subject,
  body: `<p>Hi {{ contact.first_name }}: ${subject}</p>`,
});

/** How long the second step waits, in seconds. */
export const WAIT_SECONDS = 2;

/** Six steps. The event that the fifth step waits for never arrives. */
const STEPS = [
  email('First'),
  { type: 'wait', duration: WAIT_SECONDS },
  {
    type: 'condition',
    filters: [{ name: 'first_name', predicate: 'start', value: 'Ada' }],
    yes: [email('Second')],
    no: [],
  },
  { type: 'wait_for_event', event_name: 'bench_order', duration: 5, yes: [], no: [email('Third')] },
];

/** Inserts contacts `<prefix>0@example.com` and so on. */
export async function insertContacts(
  { database: { pool }, accountId, brandId }: Stage,
  prefix: string,
  count: number,
): Promise<number[]> {
  const { rows } = await pool.query<{ id: number }>(
    `insert into contacts (account_id, brand_id, first_name, email, email_key, email_subscribed, email_opt_in_at,
       email_created_at, email_updated_at)
     select $1, $2, 'Ada' || n, $3 || n || '@example.com', $3 || n || '@example.com', true, now(), now(), now()
     from generate_series(0, $4::int - 1) n returning id`,
    [accountId, brandId, prefix, count],
  );
  if (count >= 1_000) await pool.query('analyze contacts');
  return rows.map(({ id }) => id);
}

export async function activate(stage: Stage, event: string, steps: object[] = STEPS): Promise<number> {
  const body = { name: event, trigger: { event }, steps };
  const { id } = await ask<{ id: number }>(stage, 'POST', '/flows', body);
  await ask(stage, 'POST', `/flows/${id}/activate`);
  return id;
}

/**
 * Tracks an event for contacts of a prefix, in consecutive batches.
 * @param options.batch events of a request
 * @param options.between called after each request, with the number of events so far
 */
export async function trackAll(
  stage: Stage,
  { event, prefix, count }: { event: string; prefix: string; count: number },
  { batch = EVENTS_AT_ONCE, between }: { batch?: number; between?: (tracked: number) => Promise<void> } = {},
): Promise<void> {
  for (let first = 0; first < count; first += batch) {
    const events = Array.from({ length: Math.min(batch, count - first) }, (_, n) => ({
      event,
      contact_email: `${prefix}${first + n}@example.com`,
    }));
    await ask(stage, 'POST', '/events/batch', { events });
    await between?.(first + events.length);
  }
}

const conditions = {
  entered: 'true',
  started: `(step_id is not null or state <> 'active')`,
  ended: `state <> 'active'`,
};

/** Waits until so many runs of a flow have entered, done their first step, or ended. */
export async function untilRuns(
  { database: { pool } }: Stage,
  flowId: number,
  progress: keyof typeof conditions,
  count: number,
): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  for (;;) {
    const { rows } = await pool.query<{ runs: number }>(
      `select count(*)::int as runs from flow_runs where flow_id = $1 and ${conditions[progress]}`,
      [flowId],
    );
    const { runs = 0 } = rows[0] ?? {};
    if (runs >= count) return;
    if (performance.now() > end) throw new Error(`only ${runs} of ${count} runs have ${progress}`);
    // Counting takes longer the more runs there are, and would distort the measurement.
    await sleep(Math.max(progress === 'entered' ? 10 : 250, count / 50));
  }
}

/** What the runs of a flow have done, once they have ended. Times are in ms since 1970. */
export interface Done {
  steps: number;
  lastStartAt: number;
  lastEndAt: number;
}

export async function doneIn({ database: { pool } }: Stage, flowId: number): Promise<Done> {
  const { rows } = await pool.query<Done>(
    `select count(*)::int as steps,
       (extract(epoch from max(left_at) filter (where n = 0)) * 1000)::float8 as "lastStartAt",
       (select extract(epoch from max(ended_at)) * 1000 from flow_runs where flow_id = $1)::float8 as "lastEndAt"
     from flow_run_steps where flow_id = $1`,
    [flowId],
  );
  return rows[0] as Done;
}

/** The usage of each process. */
export type Usages = Record<string, Usage>;

export function usagesOf(stage: Stage, { api, workers, sender, engine }: Running): Usages {
  return {
    api: api.usage(),
    ...Object.fromEntries(workers.map((worker, n) => [`worker_${n + 1}`, worker.usage()])),
    sender: sender.usage(),
    engine: usageOf(engine.pid),
    postgres: stage.postgresUsage(),
  };
}

/** The processor time of each process for a step, in ms, and of all. */
export function cpuPerStep(before: Usages, after: Usages, steps: number) {
  const each = Object.entries(after).map(([name, { cpuSeconds }]): [string, number] => [
    name,
    ((cpuSeconds - (before[name]?.cpuSeconds ?? 0)) * 1_000) / steps,
  ]);
  return {
    cpu_ms_per_step: Object.fromEntries(each.map(([name, ms]) => [name, rounded(ms, 3)])),
    cpu_ms_per_step_of_all: rounded(
      each.reduce((sum, [, ms]) => sum + ms, 0),
      3,
    ),
  };
}

export const peakMemoryMb = (usages: Usages) =>
  Object.fromEntries(Object.entries(usages).map(([name, usage]) => [name, rounded(usage.peakMemoryMb)]));
