import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { addProvider, requireProviderKind } from '../../src/delivery/wire/providers/named.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { queueEmails } from '../support/queued.ts';
import { rounded } from './machine.ts';
import { startInteractive, startRole } from './programs.ts';
import { repeatRuns, untilCount } from './runs.ts';
import { openStage, type Stage } from './stage.ts';

export interface ProvidersBenchOptions {
  runs: number;
  /** Number of queued messages of the working provider. */
  backlog: number;
  /** Number of queued messages of the failing provider. */
  stuck: number;
}

const CONNECTIONS = 8;
const COUNTING_SERVER = 'test/support/smtp/counting-server.ts';
/** A port on which nothing listens. */
const CLOSED_PORT = 1;

async function startSilentServer() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function add(stage: Stage, name: string, port: number) {
  const keyring = createKeyring(stage.settings.APP_SECRET ?? '');
  const settings = { url: `smtp://127.0.0.1:${port}?tls=off&dkim=off`, connections: CONNECTIONS };
  return addProvider(stage.database.pool, keyring, { name, kind: requireProviderKind('smtp'), settings });
}

/**
 * Drains a backlog through a working provider.
 * @param failingPort of the second provider; null if there is none
 */
async function drained(stage: Stage, failingPort: number | null, { backlog, stuck }: ProvidersBenchOptions) {
  const { pool } = stage.database;
  await pool.query(
    'truncate messages, message_contents, message_events, send_queue, handovers, allowance_buckets',
  );
  await pool.query('truncate providers cascade');
  const server = await startInteractive(COUNTING_SERVER, ['0']);
  const works = await add(stage, 'works', server.first.port ?? 0);
  if (failingPort !== null) {
    const fails = await add(stage, 'fails', failingPort);
    await queueEmails(stage.database, stage, stuck, { prefix: 'stuck', providerId: fails.id });
  }
  await queueEmails(stage.database, stage, backlog, { providerId: works.id });
  await pool.query('vacuum analyze messages, message_contents, send_queue');
  await pool.query('checkpoint');
  const sender = startRole('sender', { ...stage.settings, EMAIL_PROVIDER_URL: 'capture:' });
  const count = async () => (await server.ask('count')).count ?? 0;
  try {
    await untilCount(count, 1, 60_000);
    const startedAt = performance.now();
    const before = await count();
    await untilCount(count, backlog, 300_000);
    return rounded((backlog - before) / ((performance.now() - startedAt) / 1_000));
  } finally {
    await sender.stop();
    await server.stop();
  }
}

async function oneRun(stage: Stage, options: ProvidersBenchOptions) {
  const silent = await startSilentServer();
  try {
    const alone = await drained(stage, null, options);
    const besideRefusing = await drained(stage, CLOSED_PORT, options);
    const besideHanging = await drained(stage, silent.port, options);
    return {
      per_second_alone: alone,
      per_second_beside_refusing: besideRefusing,
      per_second_beside_hanging: besideHanging,
      share_beside_refusing: rounded(besideRefusing / alone, 3),
      share_beside_hanging: rounded(besideHanging / alone, 3),
    };
  } finally {
    silent.close();
  }
}

/**
 * `npm run bench -- providers`: how a provider that refuses connections or hangs slows down the messages of another
 * one.
 */
export async function benchProviders(options: ProvidersBenchOptions) {
  const stage = await openStage();
  try {
    const { runs, of } = await repeatRuns(options.runs, () => oneRun(stage, options));
    return {
      medians: {
        per_second_alone: of((run) => run.per_second_alone),
        share_beside_refusing: of((run) => run.share_beside_refusing),
        share_beside_hanging: of((run) => run.share_beside_hanging),
      },
      runs,
    };
  } finally {
    await stage.close();
  }
}
