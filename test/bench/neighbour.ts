import { setTimeout as sleep } from 'node:timers/promises';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { importOptions } from '../../src/features/imports/schema.ts';
import { createImport } from '../../src/features/imports/service.ts';
import { newBlobKey } from '../../src/platform/storage/blob-store.ts';
import { createHomeStore } from '../../src/platform/storage/local-disk.ts';
import { startCountingServer } from '../support/smtp/counting-server.ts';
import { smallAccount } from './fairness.ts';
import { loadHttp } from './http-load.ts';
import { fileOf } from './imports.ts';
import { percentile, rounded } from './machine.ts';
import { waitForApi } from './messages.ts';
import { startInteractive, startRole } from './programs.ts';
import { repeatRuns, untilCount } from './runs.ts';
import { openStage, type Stage } from './stage.ts';
import { senderSettings } from './webhooks.ts';

export interface NeighbourBenchOptions {
  runs: number;
  /** Number of rows of the import. */
  rows: number;
  seconds: number;
  /** Number of messages that the neighbour posts per second. */
  rate: number;
}

const CONTACT_CONNECTIONS = 8;
const LIMIT_MS = 60_000;
const WARM_UP_SECONDS = 3;

type Arrivals = Map<string, number>;

interface Neighbour {
  stage: Stage;
  key: string;
  arrivals: Arrivals;
}

let sent = 0;

/**
 * Posts messages at a steady rate.
 * @returns the times from the request to the SMTP server
 */
async function postMessages(
  { stage, key, arrivals }: Neighbour,
  rate: number,
  seconds: number,
): Promise<number[]> {
  const starts: Arrivals = new Map();
  const startedAt = performance.now();
  for (let n = 0; n < rate * seconds; n += 1) {
    await sleep(Math.max(0, startedAt + (n * 1_000) / rate - performance.now()));
    const to = `neighbour${sent++}@example.com`;
    starts.set(to, performance.now());
    void fetch(`http://127.0.0.1:${stage.apiPort}/v1/my/messages`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ channel: 'email', to, subject: 'Your code', body: 'Your code is 123456.' }),
    }).then((answer) => answer.arrayBuffer());
  }
  const arrived = () => [...starts.keys()].filter((to) => arrivals.has(to)).length;
  await untilCount(() => Promise.resolve(arrived()), starts.size, LIMIT_MS);
  return [...starts].map(([to, at]) => (arrivals.get(to) ?? Infinity) - at);
}

/** The neighbour's share: contacts as fast as the API responds, and messages at a steady rate. */
async function measure(neighbour: Neighbour, { rate, seconds }: NeighbourBenchOptions) {
  const { stage, key } = neighbour;
  const first = sent++;
  const contacts = loadHttp({
    ...{ port: stage.apiPort, path: '/v1/my/contacts', connections: CONTACT_CONNECTIONS, seconds },
    headers: { Authorization: `Bearer ${key}` },
    body: (n) => JSON.stringify({ email: `contact${first}-${n}@example.com`, first_name: 'Ada' }),
  });
  const times = await postMessages(neighbour, rate, seconds);
  const { requests_per_second, p50_ms, p99_ms, errors } = await contacts;
  return {
    contacts_per_second: requests_per_second,
    contacts_p50_ms: p50_ms,
    contacts_p99_ms: p99_ms,
    messages_p50_ms: rounded(percentile(times, 0.5), 1),
    messages_p99_ms: rounded(percentile(times, 0.99), 1),
    errors,
  };
}

/**
 * Imports a file for the stage's account, in a separate process.
 * @returns rows per second
 */
async function importRows({ accountId, brandId, settings, database }: Stage, rows: number, first: number) {
  const store = createHomeStore(settings.CARILLON_HOME ?? '');
  const key = newBlobKey('imports', accountId);
  await store.putStream(key, fileOf(rows, first), { maxBytes: Infinity });
  const body = { resource: 'contacts' as const, options: importOptions.parse({}) };
  const file = { filename: 'bench.csv', key, bytes: 0 };
  const { id } = await inTransaction(database.pool, (trx) =>
    createImport(trx, { accountId, brandId }, body, file, { publicUrl: '', quotaBytes: Infinity }),
  );
  const { DATABASE_URL = '', CARILLON_HOME = '', APP_SECRET = '' } = settings;
  const worker = await startInteractive('test/bench/import-worker.ts', [
    ...[DATABASE_URL, CARILLON_HOME, APP_SECRET],
  ]);
  const importAll = async () => {
    try {
      const { seconds = 0 } = await worker.ask(String(id));
      return rounded(rows / seconds, 0);
    } finally {
      await worker.stop();
    }
  };
  return { done: importAll() };
}

async function oneRun(neighbour: Neighbour, options: NeighbourBenchOptions, run: number) {
  const alone = await measure(neighbour, options);
  let isImporting = true;
  const { done } = await importRows(neighbour.stage, options.rows, run * options.rows);
  void done.then(() => (isImporting = false));
  await sleep(WARM_UP_SECONDS * 1_000);
  const beside = await measure(neighbour, options);
  // Otherwise the import ended before the measurement did, and needs more rows.
  const wasImporting = isImporting;
  return { alone, beside, imported_throughout: wasImporting, import_rows_per_second: await done };
}

/**
 * `npm run bench -- neighbour`: the service that one account gets, alone and while another account imports contacts. An
 * import uses one whole process and much of PostgreSQL, so this shows how the rest of the cores is shared.
 */
export async function benchNeighbour(options: NeighbourBenchOptions) {
  const stage = await openStage();
  const arrivals: Arrivals = new Map();
  const onMessage = ({ to }: { to: string }) => void arrivals.set(to, performance.now());
  const smtp = await startCountingServer({ port: 0, keep: true, onMessage });
  const settings = {
    ...senderSettings(stage),
    EMAIL_PROVIDER_URL: `smtp://127.0.0.1:${smtp.port}?tls=off&dkim=off`,
  };
  const roles = ['api', 'sender'].map((role) => startRole(role, settings));
  try {
    const { key } = await smallAccount(stage);
    await waitForApi(stage.apiPort);
    const neighbour = { stage, key, arrivals };
    await measure(neighbour, { ...options, seconds: WARM_UP_SECONDS });
    let n = 0;
    const { runs, of } = await repeatRuns(options.runs, () => oneRun(neighbour, options, n++));
    return {
      medians: {
        contacts_per_second_alone: of((run) => run.alone.contacts_per_second),
        contacts_per_second_beside: of((run) => run.beside.contacts_per_second),
        messages_p99_ms_alone: of((run) => run.alone.messages_p99_ms),
        messages_p99_ms_beside: of((run) => run.beside.messages_p99_ms),
        import_rows_per_second: of((run) => run.import_rows_per_second),
      },
      runs,
    };
  } finally {
    await Promise.all(roles.map((role) => role.stop()));
    await smtp.close();
    await stage.close();
  }
}
