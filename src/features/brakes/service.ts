import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { limitSettings } from '../../delivery/ledger/limits/authority.ts';
import { systemSender } from '../../delivery/terms/sender-identity.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { EventPublisher, QueuedWork } from '../../platform/events/publish.ts';
import { repeat, type Repeating } from '../../platform/processes/repeat.ts';
import { publishEpisodes } from './episodes.ts';
import { brakeAccounts, pauseWithEvent } from './rates.ts';
import { type AccountRow, pauseSending } from '../accounts/service.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** Interval of the checks. */
const LOOK_MS = 10_000;

export interface BrakesDeps {
  config: Config;
  database: Database;
  waker: Pick<Waker, 'wake'>;
  events: EventPublisher;
  log: Logger;
}

/**
 * Pauses an account for an operator, and publishes `sending.paused` unless it was already paused. Pausing again changes
 * the reason and keeps the time of the first pause.
 * @param trx the caller's transaction
 * @param actor the operator's name, for the account's log
 * @throws AppError `not_found`
 */
export async function pauseAccount(
  trx: Queryable,
  events: EventPublisher,
  accountId: number,
  reason: string,
  actor?: string,
): Promise<AccountRow> {
  await pauseWithEvent(trx, events, accountId, { reason, by: 'operator', actor });
  return pauseSending(trx, accountId, reason, 'operator', actor);
}

/** Checks the bounces, complaints and allowances of all accounts once, and acts on them. */
export async function lookAtAccounts({ config, database, waker, events, log }: BrakesDeps): Promise<void> {
  const { pool } = database;
  const { accounts, queued } = await brakeAccounts({ pool, events, systemFrom: systemSender(config) });
  for (const { outcomes, reason } of accounts) {
    const { accountId: account_id, ...counts } = outcomes;
    log.warn({ account_id, reason, ...counts }, 'sending paused by the brakes');
  }
  if (accounts.length > 0) waker.wake('send');
  const work: QueuedWork[] = [...queued, await publishEpisodes(pool, events, limitSettings(config))];
  for (const each of work) for (const channel of each.keys()) waker.wake(channel);
}

/** Checks all accounts every ten seconds until it is stopped. Several workers may do so at once. */
export function startBrakes(deps: BrakesDeps): Repeating {
  return repeat(
    async () => {
      await lookAtAccounts(deps);
      return LOOK_MS;
    },
    { log: deps.log, name: 'looking at bounces, complaints and allowances', retryMs: LOOK_MS },
  );
}
