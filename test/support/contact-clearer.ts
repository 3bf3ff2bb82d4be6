import pino from 'pino';
import { startContactRemoval } from '../../src/features/contacts/removal-work.ts';
import { openDatabase } from '../../src/platform/db/database.ts';
import { testPulse } from './pulse.ts';

/** A process for a test to kill: it clears the remaining data of deleted contacts. */
const [url = ''] = process.argv.slice(2);
const { pool } = openDatabase({ url, poolMax: 1, applicationName: 'contact clearer' });
startContactRemoval({ pool, pulse: testPulse(pool), log: pino({ level: 'silent' }) });
