import pino from 'pino';
import type { Queryable } from '../../src/platform/db/queryable.ts';
import { createPulse, type Pulse } from '../../src/platform/processes/pulse.ts';

/** A pulse without a log. It looks only while a loop watches a queue, so it need not be stopped. */
export const testPulse = (
  db: Queryable,
  options: { intervalMs?: number; self?: () => number | null } = {},
): Pulse => createPulse({ db, log: pino({ level: 'silent' }), ...options });
