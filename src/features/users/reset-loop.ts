import type pg from 'pg';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { Waker } from '../../platform/db/wake.ts';
import { repeat, type Repeating } from '../../platform/processes/repeat.ts';
import { linkDelivery } from '../system-mail/service.ts';
import { mailResets } from './resets.ts';

const PAUSE_MS = 1_000;

export interface ResetLoopDeps {
  config: Config;
  pool: pg.Pool;
  waker: Pick<Waker, 'wake'>;
  log: Logger;
}

/** Mails links for new passwords every second. Any number of processes may run this. */
export function startPasswordResets({ config, pool, waker, log }: ResetLoopDeps): Repeating {
  const delivery = linkDelivery(config);
  return repeat(
    async () => {
      const { taken, mailed } = await mailResets(pool, delivery);
      if (mailed > 0) waker.wake('send');
      if (taken > 0 && delivery.from === null) {
        log.warn('no links for new passwords are mailed without PUBLIC_URL and MAIL_DOMAIN');
      }
      return taken > 0 ? 0 : PAUSE_MS;
    },
    { log, name: 'mailing links for new passwords' },
  );
}
