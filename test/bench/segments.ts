import { setTimeout as sleep } from 'node:timers/promises';
import { compileFilters } from '../../src/features/segments/index.ts';
import { openHeavyReads } from '../../src/platform/processes/heavy-reads.ts';
import { eventually } from '../support/eventually.ts';
import { percentile, rounded } from './machine.ts';
import { waitForApi } from './messages.ts';
import { startRole } from './programs.ts';
import { type Audience, fillAudience } from './segments-fill.ts';
import { openStage, type Stage } from './stage.ts';

export interface SegmentsBenchOptions extends Audience {
  rate: number;
  warm: number;
  cold: number;
  explain: boolean;
}

const days = (count: number) => ({ count, unit: 'days' });
const did = (name: string, value: object) => ({ name, predicate: 'did', value });
const didNot = (name: string, value: object) => ({ name, predicate: 'did_not', value });
const eq = (name: string, value: unknown) => ({ name, predicate: 'eq', value });
const subscribed = { name: 'subscribed_email', predicate: 'true' };

/** `event_1` is the most frequent name. */
const segments: Record<string, unknown[]> = {
  'plan and country': [eq('data.plan', 'pro'), eq('country_code', 'DE')],
  'list and subscribed': [eq('list', 2), subscribed],
  'event twice in 90 days and subscribed': [
    did('event.event_1', { at_least: 2, within: days(90) }),
    subscribed,
  ],
  'event in 30 days and plan': [did('event.event_1', { within: days(30) }), eq('data.plan', 'pro')],
  'one event and not another in 30 days': [
    did('event.event_1', { within: days(30) }),
    didNot('event.event_2', { within: days(30) }),
  ],
  'opened in 30 days and list': [did('email_opened', { within: days(30) }), eq('list', 2)],
  'sent and not clicked in 90 days': [
    did('email_sent', { within: days(90) }),
    didNot('email_clicked', { within: days(90) }),
  ],
  'created in 30 days and source': [
    { name: 'created_at', predicate: 'within_last', value: days(30) },
    eq('source', 'import'),
  ],
  'age and end of the address': [
    { name: 'data.age', predicate: 'gt', value: 30 },
    { name: 'email', predicate: 'end', value: '@example.org' },
  ],
  'idle for 180 days and subscribed': [
    {
      name: 'any',
      predicate: 'or',
      value: [
        { name: 'last_interacted_at', predicate: 'blank' },
        { name: 'last_interacted_at', predicate: 'older_than', value: days(180) },
      ],
    },
    subscribed,
  ],
};

interface Preview {
  count: number | null;
  slow_because: string | null;
}

interface Measured extends Preview {
  ms: number;
}

async function preview(stage: Stage, filters: unknown[]): Promise<Measured> {
  const startedAt = performance.now();
  const response = await fetch(`http://127.0.0.1:${stage.apiPort}/v1/my/segments/preview`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${stage.apiKey}` },
    body: JSON.stringify({ filters }),
  });
  const body = (await response.json()) as Preview;
  if (response.status !== 200) throw new Error(`${response.status}: ${JSON.stringify(body)}`);
  return { ms: performance.now() - startedAt, count: body.count, slow_because: body.slow_because };
}

/**
 * Inserts events at a steady rate until it is stopped.
 * @returns a function that stops it and returns the events per second
 */
function startArrivals(stage: Stage, { rate, contacts }: SegmentsBenchOptions) {
  const EACH_MS = 100;
  const startedAt = performance.now();
  let inserted = 0;
  const state = { running: true };
  const insert = async () => {
    // Catches up on late events: PostgreSQL may have been restarting.
    const count = Math.round((rate * (performance.now() - startedAt)) / 1_000) - inserted;
    await stage.database.pool.query(
      `insert into contact_events (account_id, brand_id, contact_id, name_id, data, created_at)
       select $1, $2, 1 + floor($3::int * random()), 1 + floor(20 * random()), '{"sku": "A-1234"}', now()
       from generate_series(1, $4::int)`,
      [stage.accountId, stage.brandId, contacts, count],
    );
    inserted += count;
  };
  const arrive = async () => {
    while (state.running) {
      await insert().catch(() => undefined);
      await sleep(EACH_MS);
    }
  };
  const arrived = arrive();
  return async () => {
    state.running = false;
    await arrived;
    return rounded(inserted / ((performance.now() - startedAt) / 1_000));
  };
}

/**
 * How long PostgreSQL takes to count every contact, and the events of the most frequent name in 90 days, without
 * filters.
 */
async function calibrate({ database: { pool }, brandId }: Stage) {
  const timed = async (statement: string, values: unknown[]) => {
    await pool.query(statement, values);
    const startedAt = performance.now();
    await pool.query(statement, values);
    return rounded(performance.now() - startedAt);
  };
  return {
    count_of_contacts_ms: await timed(
      'select count(*), max(length(email)) from contacts where brand_id = $1',
      [brandId],
    ),
    count_of_events_ms: await timed(
      `select count(contact_id) from contact_events where name_id = 1 and created_at > now() - interval '90 days'`,
      [],
    ),
  };
}

async function explain({ database, accountId, brandId }: Stage): Promise<void> {
  const reads = openHeavyReads(database);
  for (const [name, filters] of Object.entries(segments)) {
    const { sql, values } = await compileFilters(database.pool, { brandId, asOf: new Date() }, filters, 2);
    const { rows } = await reads.run({ accountId, what: 'plans' }, async (client) => {
      await client.query('set statement_timeout = 0');
      return client.query<{ 'QUERY PLAN': string }>(
        `explain (analyze, buffers, settings) with members as materialized (select c.id from contacts c where c.brand_id = $1 and ${sql})
         select (select count(*) from members), array(select id from members order by id desc limit 10)`,
        [brandId, ...values],
      );
    });
    process.stderr.write(`\n== ${name}\n${rows.map((row) => row['QUERY PLAN']).join('\n')}\n`);
  }
  await reads.close();
}

async function warmFigures(stage: Stage, filters: unknown[], runs: number) {
  const measured: Measured[] = [await preview(stage, filters)];
  for (let n = 0; n < runs; n += 1) measured.push(await preview(stage, filters));
  const times = measured.slice(1).map(({ ms }) => ms);
  return {
    count: measured[0]?.count ?? null,
    slow_because: measured.find((one) => one.slow_because !== null)?.slow_because ?? null,
    p50_ms: rounded(percentile(times, 0.5)),
    p95_ms: rounded(percentile(times, 0.95)),
  };
}

/** Just after a restart, PostgreSQL's buffers are empty, but the files may still be in the system's cache. */
async function coldFigures(stage: Stage, filters: unknown[], runs: number) {
  const times: number[] = [];
  for (let n = 0; n < runs; n += 1) {
    await stage.restartPostgres();
    // Reopens the API's connections, which are not part of the preview.
    await eventually(() => preview(stage, [eq('id', 1)]), 30_000);
    times.push((await preview(stage, filters)).ms);
  }
  return { p95_ms: rounded(percentile(times, 0.95)) };
}

async function measure(stage: Stage, options: SegmentsBenchOptions) {
  const figures: Record<string, unknown> = {};
  for (const [name, filters] of Object.entries(segments)) {
    const warm = await warmFigures(stage, filters, options.warm);
    const cold = await coldFigures(stage, filters, options.cold);
    figures[name] = { ...warm, cold_p95_ms: cold.p95_ms };
    process.stderr.write(`${name}: ${JSON.stringify(figures[name])}\n`);
  }
  return figures;
}

/** `npm run bench -- segments`: previews of ten segments over a large brand, while events arrive. */
export async function benchSegments(options: SegmentsBenchOptions) {
  const stage = await openStage();
  try {
    await fillAudience(stage, options);
    const calibration = await calibrate(stage);
    if (options.explain) await explain(stage);
    const api = startRole('api', { ...stage.settings, EMAIL_PROVIDER_URL: 'capture:' });
    const stopArrivals = startArrivals(stage, options);
    try {
      await waitForApi(stage.apiPort);
      const figures = await measure(stage, options);
      return { calibration, segments: figures, events_per_second: await stopArrivals() };
    } finally {
      await stopArrivals();
      await api.stop();
    }
  } finally {
    await stage.close();
  }
}
