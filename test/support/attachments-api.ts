/**
 * A process of the API with two routes more. One reads and stores the files of a request as messages do, the other returns
 * how long the main thread has worked without a pause. Its arguments: the URL of the database and the home. It prints its
 * port.
 */
import { z } from 'zod';
import pino from 'pino';
import { loadConfig } from '../../src/config.ts';
import { attachmentsSchema } from '../../src/features/attachments/schema.ts';
import { createAttachments, createFileDecoder } from '../../src/features/attachments/service.ts';
import { upkeep } from '../../src/features/upkeep.ts';
import { openDatabase } from '../../src/platform/db/database.ts';
import { defineRoute } from '../../src/platform/http/route.ts';
import { openKeyring } from '../../src/platform/secrets/stored-keys.ts';
import { startApi } from '../../src/roles/api.ts';
import { TEST_SECRET } from './api.ts';

const [url = '', home = ''] = process.argv.slice(2);
const config = loadConfig({
  ...{ NODE_ENV: 'test', DATABASE_URL: url, APP_SECRET: TEST_SECRET, CARILLON_HOME: home },
  ...{ PORT: '0', OPS_PORT: '0', RATE_LIMIT_PER_KEY: '0', MAX_CONNECTIONS: '2000' },
});
const database = openDatabase({ url, poolMax: 10, applicationName: 'carillon test' });
const attachments = createAttachments({ config, database, fileDecoder: createFileDecoder() });
const route = defineRoute({
  method: 'POST',
  path: '/v1/my/probe/files',
  operationId: 'probeFiles',
  tag: 'Probe',
  summary: 'Store the files of a request',
  auth: 'brand',
  testKeys: 'refused',
  idempotency: 'none',
  maxBodyBytes: 12 * 1024 * 1024,
  body: z.strictObject({ html: z.string(), attachments: attachmentsSchema }),
  responses: { 201: { description: 'Stored', schema: null } },
  async handler({ tenant, body }) {
    const { files } = await attachments.readAttachments(tenant, body.attachments);
    const stored = await attachments.storeFiles(tenant, files);
    return { status: 201, body: stored.map(({ size }) => size) };
  },
});

/** Processor time of the main thread between two turns of a timer, in ms, longest first: its other work waits so long. */
const turns: number[] = [];
let used = process.threadCpuUsage();
setInterval(() => {
  const { user, system } = process.threadCpuUsage(used);
  used = process.threadCpuUsage();
  turns.push((user + system) / 1_000);
}, 5);
const turnsRoute = defineRoute({
  method: 'GET',
  path: '/v1/my/probe/turns',
  operationId: 'probeTurns',
  tag: 'Probe',
  summary: 'Return how long the main thread has worked without a pause',
  auth: 'brand',
  testKeys: 'refused',
  responses: { 200: { description: 'Milliseconds', schema: null } },
  handler: () => ({ status: 200, body: turns.splice(0).toSorted((one, other) => other - one) }),
});

const keyring = await openKeyring(database.pool, config, upkeep);
const log = pino({ level: 'silent' });
const { port } = await startApi({ config, database, keyring, log, extraRoutes: [route, turnsRoute] });
process.stdout.write(`port ${port}\n`);
