import pino from 'pino';
import { loadConfig } from '../../src/config.ts';
import { upkeep } from '../../src/features/upkeep.ts';
import { openDatabase } from '../../src/platform/db/database.ts';
import { registerProcess } from '../../src/platform/processes/process.ts';
import { attachLoops, createTestLoop } from './test-loop.ts';

/** A sender process for a test to kill. It prints its id in `processes` once it has attached its loops. */
const [address = '', namespace = '', url = ''] = process.argv.slice(2);
const config = loadConfig({ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, DATABASE_URL: url });
const live = await registerProcess({ url }, 'sender', upkeep.processWork);
const id = live.id() ?? 0;
const loops = [createTestLoop('send', id), createTestLoop('webhook', id)];
await attachLoops({ config, database: openDatabase({ url }), loops, log: pino({ level: 'silent' }) });
process.stdout.write(`${id}\n`);
