import { createInterface } from 'node:readline';
import pino from 'pino';
import { loadConfig } from '../../src/config.ts';
import { openAddressChecker } from '../../src/features/validation/checks/open-checker.ts';
import { advanceValidation } from '../../src/features/validation/run.ts';
import { openDatabase } from '../../src/platform/db/database.ts';
import { createResolver } from '../../src/platform/dns/resolver.ts';
import { createEgress } from '../../src/platform/egress/client.ts';

/** Runs the operations whose ids it reads from its input, like a worker does but without the engine. */
const [url = '', dnsServer = ''] = process.argv.slice(2);
const { pool } = openDatabase({ url, poolMax: 12, applicationName: 'bench validation' });
const resolver = createResolver([dnsServer]);
const egress = createEgress({ resolver, allow: [], userAgent: 'bench' });
const checker = openAddressChecker({ config: loadConfig({}), resolver, egress });
const attendance = { progress: () => undefined, stopping: new AbortController().signal, attempt: 1 };
const deps = { pool, checker, log: pino({ level: 'silent' }) };

process.stdout.write('{"ready":1}\n');
for await (const line of createInterface({ input: process.stdin })) {
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  for (;;) {
    const { phase } = await advanceValidation(deps, Number(line), new Date(), attendance);
    if (phase === 'done') break;
  }
  const { user, system } = process.cpuUsage(cpu);
  const done = {
    seconds: (performance.now() - startedAt) / 1_000,
    cpu: (user + system) / 1e6,
    peak: process.resourceUsage().maxRSS / 1_024,
  };
  process.stdout.write(`${JSON.stringify(done)}\n`);
}
