import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { decideFetches } from '../../src/features/tracking/decisions.ts';
import { createTrackingTokens, type TrackingTokens } from '../../src/features/tracking/tokens.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { testEvents } from '../support/events.ts';
import { queueEmails } from '../support/queued.ts';
import { CHROME, pathOf, targetsOf } from '../support/tracking.ts';
import { loadHttp } from './http-load.ts';
import { percentile, rounded } from './machine.ts';
import { waitForApi } from './messages.ts';
import { cpuPer } from './process-usage.ts';
import { type Measured, startInteractive, startRole } from './programs.ts';
import { repeatRuns } from './runs.ts';
import { openStage, type Stage } from './stage.ts';

export interface TrackingBenchOptions {
  runs: number;
  seconds: number;
  messages: number;
}

const CONNECTIONS = 64;
const LINKS = 5;
const STEADY_PER_SECOND = 200;
const WARM_UP_SECONDS = 3;

/** The paths of all links, or of all pixels, message by message. */
function pathsOf(stage: Stage, ids: number[], tokens: TrackingTokens, kind: 'clicks' | 'opens'): string[] {
  return ids.flatMap((id) => {
    const [pixel, ...links] = targetsOf(stage, id, LINKS);
    return (kind === 'opens' ? [pixel] : links).flatMap((target) => (target ? pathOf(target, tokens) : []));
  });
}

const headers = { 'User-Agent': CHROME };

async function bareRedirect(seconds: number) {
  const server = await startInteractive('test/bench/bare-koa.ts');
  const options = {
    port: server.first.port ?? 0,
    path: '/',
    get: () => '/',
    headers,
    connections: CONNECTIONS,
  };
  try {
    await loadHttp({ ...options, seconds: 1 });
    return await loadHttp({ ...options, seconds });
  } finally {
    await server.stop();
  }
}

/** Number of hits that are stored, or counted. */
async function countHits({ database }: Stage): Promise<number> {
  const { rows } = await database.pool.query<{ hits: number }>(
    `select (select count(*) from tracking_hits) + coalesce((select sum(hits) from tracking_overflow), 0)::bigint as hits`,
  );
  return Number(rows[0]?.hits ?? 0);
}

async function fullSpeed(stage: Stage, api: Measured, paths: string[], seconds: number) {
  const options = {
    port: stage.apiPort,
    path: '/',
    get: (n: number) => paths[n % paths.length] ?? '/',
    headers,
    connections: CONNECTIONS,
  };
  await loadHttp({ ...options, seconds: WARM_UP_SECONDS });
  await stage.database.pool.query('truncate tracking_hits, tracking_overflow, tracking_fetches');
  const before = { api: api.usage(), postgres: stage.postgresUsage() };
  const result = await loadHttp({ ...options, seconds });
  return {
    ...result,
    api_cpu_us_per_hit: cpuPer(before.api, api.usage(), result.requests),
    postgres_cpu_us_per_hit: cpuPer(before.postgres, stage.postgresUsage(), result.requests),
    lost: result.requests - (await countHits(stage)),
  };
}

/** Sends requests at a steady rate, whatever the latency of earlier ones. */
async function steady(port: number, paths: string[], seconds: number) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const latencies: number[] = [];
  const ask = (path: string) =>
    new Promise<void>((resolve, reject) => {
      const startedAt = performance.now();
      http
        .get({ host: '127.0.0.1', port, path, agent, headers }, (response) => {
          response.resume().on('end', () => {
            latencies.push(performance.now() - startedAt);
            resolve();
          });
        })
        .on('error', reject);
    });
  const asked: Promise<void>[] = [];
  const startedAt = performance.now();
  for (let n = 0; n < seconds * STEADY_PER_SECOND; n += 1) {
    const wait = startedAt + (n * 1_000) / STEADY_PER_SECOND - performance.now();
    if (wait > 0) await sleep(wait);
    asked.push(ask(paths[n % paths.length] ?? '/'));
  }
  await Promise.all(asked);
  agent.destroy();
  return { p50_ms: rounded(percentile(latencies, 0.5), 2), p99_ms: rounded(percentile(latencies, 0.99), 2) };
}

/** How fast one worker judges opens and clicks. */
async function decisions({ database: { pool } }: Stage) {
  const asOf = new Date(Date.now() + 60_000);
  const startedAt = performance.now();
  let decided = 0;
  for (;;) {
    const { fetches } = await decideFetches({ pool, events: testEvents }, asOf);
    decided += fetches;
    if (fetches === 0) break;
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  return { decided, per_second: rounded(decided / seconds) };
}

async function oneRun(stage: Stage, options: TrackingBenchOptions) {
  const { seconds } = options;
  const tokens = createTrackingTokens(createKeyring(stage.settings.APP_SECRET ?? ''));
  const ids = await queueEmails(stage.database, stage, options.messages);
  const clicks = pathsOf(stage, ids, tokens, 'clicks');
  const opens = pathsOf(stage, ids, tokens, 'opens');
  const calibration = { bare_koa_redirect: await bareRedirect(seconds) };
  const api = startRole('api', { ...stage.settings, EMAIL_PROVIDER_URL: 'capture:' });
  try {
    await waitForApi(stage.apiPort);
    const steadyClicks = await steady(stage.apiPort, clicks, seconds);
    const clicked = await fullSpeed(stage, api, clicks, seconds);
    const decidedClicks = await decisions(stage);
    const opened = await fullSpeed(stage, api, opens, seconds);
    const decidedOpens = await decisions(stage);
    return {
      calibration,
      clicks: { ...clicked, decisions: decidedClicks },
      opens: { ...opened, decisions: decidedOpens },
      clicks_at_200_per_second: steadyClicks,
    };
  } finally {
    await api.stop();
  }
}

/** `npm run bench -- tracking`: clicks and opens, with every hit stored, each run with its calibration. */
export async function benchTracking(options: TrackingBenchOptions) {
  const stage = await openStage();
  try {
    const { runs, of } = await repeatRuns(options.runs, () => oneRun(stage, options));
    return {
      medians: {
        clicks_per_second: of((run) => run.clicks.requests_per_second),
        opens_per_second: of((run) => run.opens.requests_per_second),
        clicks_share_of_bare_koa: of(
          (run) => run.clicks.requests_per_second / run.calibration.bare_koa_redirect.requests_per_second,
        ),
        clicks_p99_ms_at_200_per_second: of((run) => run.clicks_at_200_per_second.p99_ms),
        decided_clicks_per_second: of((run) => run.clicks.decisions.per_second),
        decided_opens_per_second: of((run) => run.opens.decisions.per_second),
        lost: of((run) => run.clicks.lost + run.opens.lost),
      },
      runs,
    };
  } finally {
    await stage.close();
  }
}
