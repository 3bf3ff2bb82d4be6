import type pg from 'pg';
import type { Waker } from '../../../platform/db/wake.ts';
import type { Pulse } from '../../../platform/processes/pulse.ts';
import type { Repeating } from '../../../platform/processes/repeat.ts';
import { backlogName } from '../../terms/backlog.ts';
import type { LimitSettings } from '../limits/authority.ts';
import { releaseHeldPage } from './release-held.ts';

/** Pause between two pages, which leaves the database to claims. */
const BUSY_MS = 5;

export interface ReleasingDeps {
  pool: pg.Pool;
  waker: Pick<Waker, 'wake'>;
  pulse: Pulse;
  limits: LimitSettings;
}

/** Releases held messages, page by page, when their limit ends. Any number of senders may run this at once. */
export function startReleasing({ pool, waker, pulse, limits }: ReleasingDeps): Repeating {
  const queue = {
    name: 'releasing held messages',
    waiting: 'exists (select from held_backlogs where recheck_at <= now())',
  };
  const releasePage = async () => {
    const release = await releaseHeldPage(pool, limits);
    if (release && release.released > 0) waker.wake('send', [backlogName(release.backlog)]);
    return release !== null;
  };
  return pulse.repeat(queue, releasePage, BUSY_MS);
}
