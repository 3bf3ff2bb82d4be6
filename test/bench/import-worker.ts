import { createInterface } from 'node:readline';
import pino from 'pino';
import { createRecipientFence } from '../../src/delivery/ledger/consent/recipient-fence.ts';
import { advanceImport } from '../../src/features/imports/run.ts';
import { openDatabase } from '../../src/platform/db/database.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { createHomeStore } from '../../src/platform/storage/local-disk.ts';
import { testEvents } from '../support/events.ts';

/**
 * A process that reads ids of imports, imports the file of each, and prints seconds, processor seconds and its peak
 * memory in MiB.
 */
const [url = '', home = '', secret = ''] = process.argv.slice(2);
const { pool } = openDatabase({ url, poolMax: 2 });
const deps = {
  pool,
  consent: { keyring: createKeyring(secret), plusAddresses: false },
  store: createHomeStore(home),
  events: testEvents,
  waker: { wake: () => undefined },
  fence: createRecipientFence(pool),
  log: pino({ level: 'silent' }),
};
const attendance = { progress: () => undefined, stopping: new AbortController().signal, attempt: 1 };

async function run(id: number) {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  let seconds = 0;
  for (;;) {
    const state = await advanceImport(deps, id, attendance);
    if (state.phase === 'clearing') seconds = (performance.now() - startedAt) / 1_000;
    if (state.phase !== 'done') continue;
    const { user, system } = process.cpuUsage(before);
    const peak = process.resourceUsage().maxRSS / 1_024;
    return { seconds, cpu: (user + system) / 1e6, peak, created: state.createdCount };
  }
}

process.stdout.write('{"ready":1}\n');
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await run(Number(line)))}\n`);
}
