import type pg from 'pg';
import pino from 'pino';
import { createTrackedEventConsumers } from '../../../../src/features/events.ts';
import type { AdvanceDeps } from '../../../../src/features/flows/run/advance.ts';
import { createFlowVersionReader } from '../../../../src/features/flows/versions.ts';
import { testFlowSender } from '../../../support/flow-sends.ts';

/** What runs advance with, as in a worker. */
export function testAdvanceDeps(pool: pg.Pool): AdvanceDeps {
  const waker = { wake: () => undefined };
  return {
    ...{ pool, waker },
    versions: createFlowVersionReader(pool),
    send: testFlowSender(),
    consumers: createTrackedEventConsumers({ waker }),
    log: pino({ level: 'silent' }),
  };
}
