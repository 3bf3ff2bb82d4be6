import { randomBytes } from 'node:crypto';
import { Pool } from 'undici';
import { messageReference } from '../../src/delivery/terms/addresses/reference.ts';
import { addProvider, requireProviderKind } from '../../src/delivery/wire/providers/named.ts';
import { createKeyring, type Keyring } from '../../src/platform/secrets/keyring.ts';
import { queueEmails } from '../support/queued.ts';
import {
  callbackSettings,
  mailgunCallback,
  signAsSendgrid,
  type SignedCallback,
} from '../support/signed-callbacks.ts';
import { percentile, rounded } from './machine.ts';
import { waitForApi } from './messages.ts';
import { cpuPer } from './process-usage.ts';
import { type Measured, startInteractive, startRole } from './programs.ts';
import { repeatRuns } from './runs.ts';
import { openStage, type Stage } from './stage.ts';

export interface CallbacksBenchOptions {
  runs: number;
  facts: number;
}

const CONNECTIONS = 32;
/** Mailgun reports each event in a request of its own, SendGrid up to a thousand at once. */
const SINGLE = 'mailgun';
const BATCHED = 'sendgrid';
const BATCH = 100;
/** Number of requests after which V8 has compiled the hot code. */
const WARM_UP = 2_000;
const WRITTEN_AT_ONCE = 1_000;

/** Writes messages that the provider has accepted, and returns their references. */
async function sentMessages(
  stage: Stage,
  keyring: Keyring,
  provider: string,
  count: number,
): Promise<string[]> {
  const { pool } = stage.database;
  await pool.query('truncate messages, message_contents, message_events, send_queue');
  const ids: number[] = [];
  while (ids.length < count) {
    const next = Math.min(WRITTEN_AT_ONCE, count - ids.length);
    ids.push(...(await queueEmails(stage.database, stage, next)));
  }
  await pool.query(
    `update messages set status = 'sent', provider = $1, provider_message_id = 'abc', sent_at = now(), sent_attempt = 1`,
    [provider],
  );
  await pool.query('truncate send_queue');
  await pool.query('vacuum analyze messages');
  await pool.query('checkpoint');
  const { key } = keyring.subkey('reference');
  return ids.map((messageId) => messageReference(key, { accountId: stage.accountId, messageId }));
}

type Callbacks = (references: readonly string[]) => SignedCallback[];

/** One callback per message, each with a token of its own. */
const singles: Callbacks = (references) =>
  references.map((reference) => mailgunCallback(randomBytes(25).toString('hex'), 'delivered', reference));

/** Callbacks that each report a hundred messages. */
const batches: Callbacks = (references) => {
  const timestamp = Math.floor(Date.now() / 1_000);
  const events = references.map((reference, n) => ({
    event: 'delivered',
    email: `recipient${n}@example.com`,
    timestamp,
    sg_event_id: `event-${n}`,
    sg_message_id: `abc${n}.recvd-5f7c`,
    'smtp-id': `<${n}@mail.bench.test>`,
    response: '250 2.0.0 OK: queued as 4bXyZ12mRz',
    carillon_reference: reference,
  }));
  return Array.from({ length: Math.ceil(events.length / BATCH) }, (_, n) =>
    signAsSendgrid(events.slice(n * BATCH, (n + 1) * BATCH)),
  );
};

/** Posts callbacks over several connections, one at a time on each. */
async function post(
  port: number,
  path: string,
  callbacks: readonly SignedCallback[],
  expected: number | null,
) {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: CONNECTIONS });
  const latencies: number[] = [];
  let next = 0;
  const run = async () => {
    for (let callback = callbacks[next++]; callback; callback = callbacks[next++]) {
      const startedAt = performance.now();
      const { statusCode, body } = await pool.request({ method: 'POST', path, ...callback });
      await body.dump();
      latencies.push(performance.now() - startedAt);
      if (expected !== null && statusCode !== expected) throw new Error(`the response was ${statusCode}`);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: CONNECTIONS }, run));
  const seconds = (performance.now() - startedAt) / 1_000;
  await pool.close();
  return {
    seconds,
    p50_ms: rounded(percentile(latencies, 0.5), 2),
    p99_ms: rounded(percentile(latencies, 0.99), 2),
  };
}

/** Calibrates: sends the same requests to a server that only parses them. */
async function bareKoa(callbacks: readonly SignedCallback[], facts: number): Promise<number> {
  const server = await startInteractive('test/bench/bare-koa.ts');
  try {
    const port = server.first.port ?? 0;
    await post(port, '/', callbacks.slice(0, WARM_UP), null);
    return rounded(facts / (await post(port, '/', callbacks, null)).seconds);
  } finally {
    await server.stop();
  }
}

interface Bench {
  stage: Stage;
  api: Measured;
  keyring: Keyring;
}

async function measure({ stage, api, keyring }: Bench, kindName: string, facts: number, make: Callbacks) {
  const kind = requireProviderKind(kindName);
  const settings = callbackSettings[kindName] ?? {};
  const added = await addProvider(stage.database.pool, keyring, { name: kindName, kind, settings });
  const path = `/callbacks/${kindName}/${added.callbackToken}`;
  const references = await sentMessages(stage, keyring, kindName, facts + WARM_UP);
  await post(stage.apiPort, path, make(references.slice(0, WARM_UP)), 200);
  const callbacks = make(references.slice(WARM_UP));
  const before = { api: api.usage(), postgres: stage.postgresUsage() };
  const { seconds, ...latencies } = await post(stage.apiPort, path, callbacks, 200);
  const usage = {
    api_cpu_us_per_fact: cpuPer(before.api, api.usage(), facts),
    postgres_cpu_us_per_fact: cpuPer(before.postgres, stage.postgresUsage(), facts),
  };
  const { rows } = await stage.database.pool.query<{ count: number }>(
    `select count(*)::int as count from messages where status = 'delivered'`,
  );
  if (rows[0]?.count !== facts + WARM_UP) throw new Error(`${rows[0]?.count} messages are delivered`);
  const calibration = { bare_koa_facts_per_second: await bareKoa(callbacks, facts) };
  return { facts_per_second: rounded(facts / seconds), ...latencies, ...usage, ...calibration };
}

async function oneRun({ facts }: CallbacksBenchOptions) {
  const stage = await openStage();
  const keyring = createKeyring(stage.settings.APP_SECRET ?? '');
  const api = startRole('api', { ...stage.settings, EMAIL_PROVIDER_URL: 'capture:' });
  const bench = { stage, api, keyring };
  try {
    await waitForApi(stage.apiPort);
    return {
      single: await measure(bench, SINGLE, facts, singles),
      batches: await measure(bench, BATCHED, facts, batches),
    };
  } finally {
    await api.stop();
    await stage.close();
  }
}

/** Measures deliveries reported by signed callbacks: one per request, and a hundred per request. */
export async function benchCallbacks(options: CallbacksBenchOptions) {
  const { runs, of } = await repeatRuns(options.runs, () => oneRun(options));
  return {
    medians: {
      single_facts_per_second: of(({ single }) => single.facts_per_second),
      single_bare_koa_facts_per_second: of(({ single }) => single.bare_koa_facts_per_second),
      batched_facts_per_second: of(({ batches }) => batches.facts_per_second),
      batched_bare_koa_facts_per_second: of(({ batches }) => batches.bare_koa_facts_per_second),
    },
    runs,
  };
}
