import type pg from 'pg';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { Pulse } from '../../platform/processes/pulse.ts';
import type { Repeating } from '../../platform/processes/repeat.ts';
import { linkDelivery } from '../system-mail/service.ts';
import { mailResets } from './resets.ts';

export interface ResetLoopDeps {
  config: Config;
  pool: pg.Pool;
  waker: Pick<Waker, 'wake'>;
  pulse: Pulse;
  log: Logger;
}

/** Mails links for new passwords, within a second. Any number of processes may run this. */
export function startPasswordResets({ config, pool, waker, pulse, log }: ResetLoopDeps): Repeating {
  const delivery = linkDelivery(config);
  const queue = {
    name: 'mailing links for new passwords',
    waiting: 'exists (select from password_reset_requests)',
  };
  return pulse.repeat(queue, async () => {
    const { taken, mailed } = await mailResets(pool, delivery);
    if (mailed > 0) waker.wake('send');
    if (taken > 0 && delivery.from === null) {
      log.warn('no links for new passwords are mailed without PUBLIC_URL and MAIL_DOMAIN');
    }
    return taken > 0;
  });
}
