import { insertGrant } from '../support/grants.ts';
import { ask } from './ask.ts';
import { median, percentile, rounded } from './machine.ts';
import { bareKoa, waitForApi } from './messages.ts';
import { cpuPer } from './process-usage.ts';
import { type Measured, startRole } from './programs.ts';
import { repeatRuns } from './runs.ts';
import { openStage, type Stage } from './stage.ts';

export interface McpBenchOptions {
  runs: number;
  /** Number of measured requests of each kind in each run. */
  requests: number;
}

const CALIBRATION_SECONDS = 3;
/** Each access has few calls a second, so the requests come from many. */
const GRANTS = 200;
const MODERN = '2026-07-28';
const LEGACY = '2025-11-25';

type Version = typeof MODERN | typeof LEGACY;

interface Bench {
  stage: Stage;
  tokens: string[];
  contactId: number;
  /** Number of requests so far. */
  sent: number;
}

async function prepare(stage: Stage): Promise<Bench> {
  const { pool } = stage.database;
  const { rows } = await pool.query<{ id: number }>('select user_id as id from memberships');
  const userId = rows[0]?.id ?? 0;
  const { accountId, brandId } = stage;
  const baseUrl = `http://127.0.0.1:${stage.apiPort}`;
  const tokens: string[] = [];
  for (let n = 0; n < GRANTS; n++) {
    const { accessToken } = await insertGrant(pool, { baseUrl, userId, choices: [{ accountId, brandId }] });
    tokens.push(accessToken);
  }
  const contact = await ask<{ id: number }>(stage, 'POST', '/contacts', { email: 'ada@example.com' });
  return { stage, tokens, contactId: contact.id, sent: 0 };
}

/** What a client of the version adds to each request. */
function requestOf(version: Version, id: number, method: string, params: { name?: string }) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const isModern = version === MODERN;
  return {
    headers: {
      'MCP-Protocol-Version': version,
      ...(isModern ? { 'Mcp-Method': method } : {}),
      ...(isModern && params.name !== undefined ? { 'Mcp-Name': params.name } : {}),
    },
    body: { jsonrpc: '2.0', id, method, params: isModern ? { ...params, _meta: meta } : params },
  };
}

interface Answer {
  error?: unknown;
  result?: { isError?: boolean };
}

/** @returns how long the response took, in ms, and its size */
async function call(bench: Bench, version: Version, method: string, params: object) {
  const number = bench.sent++;
  const { headers, body } = requestOf(version, number, method, params);
  const startedAt = performance.now();
  const response = await fetch(`http://127.0.0.1:${bench.stage.apiPort}/mcp`, {
    method: 'POST',
    headers: {
      ...headers,
      Authorization: `Bearer ${bench.tokens[number % GRANTS]}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const ms = performance.now() - startedAt;
  // Clients of the former era get one event of a stream.
  const json = /^data: (.*)$/m.exec(text)?.[1] ?? text;
  const { error, result } = JSON.parse(json) as Answer;
  if (error !== undefined || result?.isError) throw new Error(`${method}: ${text.slice(0, 500)}`);
  return { ms, bytes: text.length };
}

async function route({ stage, contactId }: Bench): Promise<number> {
  const startedAt = performance.now();
  await ask(stage, 'GET', `/contacts/${contactId}`);
  return performance.now() - startedAt;
}

/** The three kinds of requests of a client of this version. Each returns how long it took, in ms. */
function kindsOf(bench: Bench, version: Version) {
  const get = { name: 'get_contact', arguments: { id: bench.contactId } };
  return {
    list: async () => (await call(bench, version, 'tools/list', {})).ms,
    route: () => route(bench),
    call: async () => (await call(bench, version, 'tools/call', get)).ms,
  };
}

/** Requests of all kinds in turn, so that each meets the same machine. */
async function latencies(kinds: ReturnType<typeof kindsOf>, requests: number) {
  const ms: Record<keyof typeof kinds, number[]> = { list: [], route: [], call: [] };
  for (let n = 0; n < requests; n++) {
    for (const kind of ['list', 'route', 'call'] as const) ms[kind].push(await kinds[kind]());
  }
  return {
    tools_list_p50_ms: rounded(median(ms.list), 2),
    tools_list_p95_ms: rounded(percentile(ms.list, 0.95), 2),
    route_p50_ms: rounded(median(ms.route), 2),
    call_p50_ms: rounded(median(ms.call), 2),
    call_p95_ms: rounded(percentile(ms.call, 0.95), 2),
    /** What a call takes longer than its route, by the medians. */
    call_adds_ms: rounded(median(ms.call) - median(ms.route), 2),
    /** The same by the fastest tenth, which other programs on the machine disturb less. */
    fastest_call_adds_ms: rounded(percentile(ms.call, 0.1) - percentile(ms.route, 0.1), 2),
  };
}

/** Processor time of one request of each kind, in µs. */
async function costs({ stage }: Bench, api: Measured, kinds: ReturnType<typeof kindsOf>, requests: number) {
  const found: Record<string, { api: number; postgres: number }> = {};
  for (const kind of ['list', 'route', 'call'] as const) {
    const before = { api: api.usage(), postgres: stage.postgresUsage() };
    for (let n = 0; n < requests; n++) await kinds[kind]();
    found[kind] = {
      api: cpuPer(before.api, api.usage(), requests),
      postgres: cpuPer(before.postgres, stage.postgresUsage(), requests),
    };
  }
  return found;
}

async function oneRun(bench: Bench, api: Measured, requests: number) {
  const calibration = await bareKoa(CALIBRATION_SECONDS);
  const [modern, former] = [kindsOf(bench, MODERN), kindsOf(bench, LEGACY)];
  return {
    calibration_bare_koa: calibration,
    modern: await latencies(modern, requests),
    former_era: await latencies(former, requests),
    cpu_us: await costs(bench, api, modern, requests),
  };
}

/** `npm run bench -- mcp`: the list of tools, and what a call of a tool adds to its route. */
export async function benchMcp({ runs: count, requests }: McpBenchOptions) {
  const stage = await openStage();
  const settings = { ...stage.settings, EMAIL_PROVIDER_URL: 'capture:' };
  const api = startRole('api', settings);
  try {
    await waitForApi(stage.apiPort);
    const bench = await prepare(stage);
    for (const version of [MODERN, LEGACY] as const) await latencies(kindsOf(bench, version), 100);
    const list = await call(bench, MODERN, 'tools/list', {});
    const { runs, of } = await repeatRuns(count, () => oneRun(bench, api, requests));
    const figures = (era: 'modern' | 'former_era') => ({
      tools_list_p95_ms: of((run) => run[era].tools_list_p95_ms),
      route_p50_ms: of((run) => run[era].route_p50_ms),
      call_p50_ms: of((run) => run[era].call_p50_ms),
      call_adds_ms: of((run) => run[era].call_adds_ms),
      fastest_call_adds_ms: of((run) => run[era].fastest_call_adds_ms),
    });
    return {
      tools_list_bytes: list.bytes,
      medians: { modern: figures('modern'), former_era: figures('former_era') },
      runs,
    };
  } finally {
    await api.stop();
    await stage.close();
  }
}
