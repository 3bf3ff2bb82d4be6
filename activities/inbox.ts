import type { Logger } from 'pino';
import type { Config } from '../src/config.ts';
import type { TrackedEventConsumer } from '../src/features/contact-events/service.ts';
import { createClamdScanner } from '../src/features/inbox/scan/clamd.ts';
import { createMailScan } from '../src/features/inbox/scan/scan.ts';
import type { Database } from '../src/platform/db/database.ts';
import type { Waker } from '../src/platform/db/wake.ts';
import type { EventPublisher } from '../src/platform/events/publish.ts';
import type { Keyring } from '../src/platform/secrets/keyring.ts';
import { createHomeStore } from '../src/platform/storage/local-disk.ts';
import type { ScanActivities } from '../workflows/inbox/contract.ts';
import { presentTime } from './present-time.ts';
import { accountOf, createTurns } from './turns.ts';

/** Number of mails that one process scans concurrently. By default, clamd scans ten files at a time. */
const LIMITS = { slots: 8, perKey: 4 };

export interface InboxActivityDependencies {
  config: Pick<Config, 'CARILLON_HOME' | 'CLAMD_URL' | 'SUPPRESS_PLUS_ADDRESSES'>;
  database: Database;
  events: EventPublisher;
  keyring: Keyring;
  trackedEventConsumers: readonly TrackedEventConsumer[];
  waker: Waker;
  log: Logger;
  stopping: AbortSignal;
}

/** The activities of the workflow `inbox-scan/<id>`. */
export function createInboxActivities(deps: InboxActivityDependencies): ScanActivities {
  const { config, database, log } = deps;
  const scan = createMailScan({
    pool: database.pool,
    store: createHomeStore(config.CARILLON_HOME),
    scanner: config.CLAMD_URL === undefined ? null : createClamdScanner(config.CLAMD_URL),
    arrival: {
      keyring: deps.keyring,
      plusAddresses: config.SUPPRESS_PLUS_ADDRESSES,
      events: deps.events,
      waker: deps.waker,
      consumers: deps.trackedEventConsumers,
    },
    log,
  });
  const inTurn = createTurns(LIMITS, deps.stopping);
  return {
    async scanMail(id, asOf) {
      const accountId = await accountOf(database.pool, 'conversation_messages', id);
      return inTurn(accountId, (turn) => scan.advance(id, presentTime(asOf), turn.stopping));
    },
    reportUnscanned: (id) => scan.report(id),
  };
}
