import type { Config } from '../src/config.ts';
import { createRecipientFence } from '../src/delivery/ledger/consent/recipient-fence.ts';
import { fail } from '../src/features/bulk-actions/model.ts';
import { advanceBulkAction } from '../src/features/bulk-actions/run.ts';
import type { Database } from '../src/platform/db/database.ts';
import type { Keyring } from '../src/platform/secrets/keyring.ts';
import type { BulkActionActivities } from '../workflows/bulk-actions/contract.ts';
import { accountOf, createTurns } from './turns.ts';

/** Number of bulk actions that one process works on concurrently, each for about ten seconds at a time. */
const LIMITS = { slots: 2, perKey: 1 };

export interface BulkActionActivityDependencies {
  config: Pick<Config, 'SUPPRESS_PLUS_ADDRESSES'>;
  database: Database;
  keyring: Keyring;
  /** Aborted when the process is about to stop. */
  stopping: AbortSignal;
}

/** The activities of the workflow `bulk/<id>`. */
export function createBulkActionActivities(deps: BulkActionActivityDependencies): BulkActionActivities {
  const { config, database, keyring, stopping } = deps;
  const { pool } = database;
  const inTurn = createTurns(LIMITS, stopping);
  const run = {
    pool,
    consent: { keyring, plusAddresses: config.SUPPRESS_PLUS_ADDRESSES },
    fence: createRecipientFence(pool),
  };
  return {
    async advanceBulkAction(id) {
      const accountId = await accountOf(pool, 'bulk_actions', id);
      return inTurn(accountId, (turn) => advanceBulkAction(run, id, turn));
    },
    failBulkAction: (id) => fail(pool, id, 'internal_error'),
  };
}
