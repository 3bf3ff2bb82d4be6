import { loadHttp } from './http-load.ts';
import { fillWithEvents } from './events-fill.ts';
import { rounded } from './machine.ts';
import { bareKoa, waitForApi } from './messages.ts';
import { cpuPer } from './process-usage.ts';
import { startRole } from './programs.ts';
import { repeatRuns } from './runs.ts';
import { openStage, type Stage } from './stage.ts';

export interface ContactsBenchOptions {
  runs: number;
  seconds: number;
  /** Number of contacts that the brand already has. */
  contacts: number;
  connections: number;
}

const WARM_UP_SECONDS = 2;

async function countOf(stage: Stage): Promise<number> {
  const { rows } = await stage.database.pool.query<{ count: number }>('select count(*) from contacts');
  return rows[0]?.count ?? 0;
}

async function oneRun(stage: Stage, { seconds, connections }: ContactsBenchOptions, run: number) {
  const calibration = await bareKoa(seconds);
  const api = startRole('api', { ...stage.settings, EMAIL_PROVIDER_URL: 'capture:' });
  let sent = 0;
  const body = () => {
    const n = sent++;
    return JSON.stringify({
      email: `new-${run}-${n}@example.com`,
      first_name: 'Ada',
      last_name: `Number ${n}`,
      data: { plan: 'pro', seats: n },
    });
  };
  const load = (duration: number) =>
    loadHttp({
      port: stage.apiPort,
      path: '/v1/my/contacts',
      headers: { Authorization: `Bearer ${stage.apiKey}` },
      body,
      connections,
      seconds: duration,
    });
  try {
    await waitForApi(stage.apiPort);
    await load(WARM_UP_SECONDS);
    await stage.database.pool.query('checkpoint');
    const before = { api: api.usage(), postgres: stage.postgresUsage(), count: await countOf(stage) };
    const result = await load(seconds);
    const after = { api: api.usage(), postgres: stage.postgresUsage() };
    return {
      calibration_bare_koa: calibration,
      created_per_second: result.requests_per_second,
      p50_ms: result.p50_ms,
      p99_ms: result.p99_ms,
      errors: result.errors,
      api_cpu_us_per_contact: cpuPer(before.api, after.api, result.requests),
      postgres_cpu_us_per_contact: cpuPer(before.postgres, after.postgres, result.requests),
      /** Number of contacts with a 2xx response that the database does not have. */
      lost: result.requests - ((await countOf(stage)) - before.count),
      api_peak_memory_mb: rounded(api.usage().peakMemoryMb),
    };
  } finally {
    await api.stop();
  }
}

/** `npm run bench -- contacts`: new contacts by `POST /contacts`, in a brand that has many. */
export async function benchContacts(options: ContactsBenchOptions) {
  const stage = await openStage();
  try {
    await fillWithEvents(stage, { contacts: options.contacts, events: 0 });
    let run = 0;
    const { runs, of } = await repeatRuns(options.runs, () => oneRun(stage, options, run++));
    return {
      medians: {
        created_per_second: of((each) => each.created_per_second),
        created_p99_ms: of((each) => each.p99_ms),
        created_share_of_bare_koa: of(
          (each) => each.created_per_second / each.calibration_bare_koa.requests_per_second,
        ),
        lost: of((each) => each.lost),
      },
      runs,
    };
  } finally {
    await stage.close();
  }
}
