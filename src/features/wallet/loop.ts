import type pg from 'pg';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { systemSender } from '../../delivery/terms/sender-identity.ts';
import type { Waker } from '../../platform/db/wake.ts';
import { repeat, type Repeating } from '../../platform/processes/repeat.ts';
import { notifyOwners } from './notices.ts';
import { startDueTopUps } from './top-ups.ts';

/** Interval of the checks of balances and spending. */
const LOOK_MS = 15_000;

export interface WalletLoopDeps {
  config: Config;
  pool: pg.Pool;
  waker: Pick<Waker, 'wake'>;
  log: Logger;
}

/** Checks the money of all accounts once: starts top-ups, and mails owners. */
export async function lookAtWallets({ config, pool, waker }: WalletLoopDeps): Promise<void> {
  if (config.STRIPE_SECRET_KEY !== undefined && (await startDueTopUps(pool, config.CURRENCY)) > 0) {
    waker.wake('outbox');
  }
  const notified = await notifyOwners(pool, { from: systemSender(config), currency: config.CURRENCY });
  if (notified > 0) waker.wake('send');
}

/** Checks the money of all accounts until it is stopped. Several workers may do so at once. */
export function startWallets(deps: WalletLoopDeps): Repeating {
  return repeat(
    async () => {
      await lookAtWallets(deps);
      return LOOK_MS;
    },
    { log: deps.log, name: 'looking at wallets', retryMs: LOOK_MS },
  );
}
