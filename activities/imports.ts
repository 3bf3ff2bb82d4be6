import type { Logger } from 'pino';
import type { Config } from '../src/config.ts';
import { createRecipientFence } from '../src/delivery/ledger/consent/recipient-fence.ts';
import { advanceImport } from '../src/features/imports/run.ts';
import type { Database } from '../src/platform/db/database.ts';
import type { Waker } from '../src/platform/db/wake.ts';
import type { EventPublisher } from '../src/platform/events/publish.ts';
import type { Keyring } from '../src/platform/secrets/keyring.ts';
import { createHomeStore } from '../src/platform/storage/local-disk.ts';
import type { ImportActivities } from '../workflows/imports/contract.ts';
import { accountOf, createTurns } from './turns.ts';

/** Number of imports that one process works on concurrently, each for about ten seconds at a time. */
const LIMITS = { slots: 2, perKey: 1 };

export interface ImportActivityDependencies {
  config: Config;
  database: Database;
  waker: Pick<Waker, 'wake'>;
  keyring: Keyring;
  events: EventPublisher;
  log: Logger;
  /** Aborted when the process is about to stop. */
  stopping: AbortSignal;
}

/** The activity of the workflow `import/<id>`. */
export function createImportActivities(deps: ImportActivityDependencies): ImportActivities {
  const { config, database, waker, keyring, events, log, stopping } = deps;
  const { pool } = database;
  const inTurn = createTurns(LIMITS, stopping);
  const run = {
    pool,
    consent: { keyring, plusAddresses: config.SUPPRESS_PLUS_ADDRESSES },
    store: createHomeStore(config.CARILLON_HOME),
    fence: createRecipientFence(pool),
    events,
    waker,
    log,
  };
  return {
    async advanceImport(importId) {
      const accountId = await accountOf(pool, 'imports', importId);
      return inTurn(accountId, (turn) => advanceImport(run, importId, turn));
    },
  };
}
