import type pg from 'pg';
import type { Logger } from 'pino';
import type { Waker } from '../../platform/db/wake.ts';
import { repeat, type Repeating } from '../../platform/processes/repeat.ts';
import { backlogName } from '../backlog.ts';
import type { LimitSettings } from './authority.ts';
import { releaseHeldPage } from './release-held.ts';

/** Pause if no held backlog has to be checked. */
const IDLE_MS = 1_000;
/** Pause between two pages, which leaves the database to claims. */
const BUSY_MS = 5;

export interface ReleasingDeps {
  pool: pg.Pool;
  waker: Pick<Waker, 'wake'>;
  limits: LimitSettings;
  log: Logger;
}

/** Releases held messages, page by page, when their limit ends. Any number of senders may run this at once. */
export function startReleasing({ pool, waker, limits, log }: ReleasingDeps): Repeating {
  return repeat(
    async () => {
      const release = await releaseHeldPage(pool, limits);
      if (!release) return IDLE_MS;
      if (release.released > 0) waker.wake('send', [backlogName(release.backlog)]);
      return BUSY_MS;
    },
    { log, name: 'releasing held messages' },
  );
}
