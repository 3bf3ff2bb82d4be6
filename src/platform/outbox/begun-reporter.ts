import type pg from 'pg';
import type { Logger } from 'pino';
import { createCoalescer } from '../db/coalescer.ts';
import type { Waker } from '../db/wake.ts';
import { deleteBegun } from './claims.ts';

/** Reports to the outbox which workflows have begun, so that it can start others. */
export interface BegunReporter {
  /** If this report is lost, the start is sent once more after its lease, which does no harm. */
  report(workflowId: string): void;
}

const INTERVAL_MS = 50;
const MAX_GROUP = 100;

export function createBegunReporter({
  pool,
  waker,
  log,
}: {
  pool: pg.Pool;
  waker: Pick<Waker, 'wake'>;
  log: Logger;
}): BegunReporter {
  const groups = createCoalescer<string, undefined>({
    maxGroupSize: MAX_GROUP,
    concurrency: 1,
    intervalMs: INTERVAL_MS,
    async run(workflowIds) {
      if ((await deleteBegun(pool, workflowIds)) > 0) waker.wake('outbox');
      return workflowIds.map(() => undefined);
    },
  });
  return {
    report(workflowId) {
      groups
        .submit(workflowId)
        .catch((err: unknown) => log.debug({ err }, 'the beginning of a run was not recorded'));
    },
  };
}
