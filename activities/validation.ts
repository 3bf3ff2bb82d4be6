import type { Logger } from 'pino';
import type { AddressChecker } from '../src/features/validation/checks/address-checker.ts';
import { advanceValidation } from '../src/features/validation/run.ts';
import type { Database } from '../src/platform/db/database.ts';
import type { ValidationActivities } from '../workflows/validation/contract.ts';
import { presentTime } from './present-time.ts';
import { accountOf, createTurns } from './turns.ts';

/** Number of operations that one process works on concurrently. They mostly wait for other servers. */
const LIMITS = { slots: 32, perKey: 8 };

export interface ValidationActivityDependencies {
  database: Database;
  checker: AddressChecker;
  log: Logger;
  stopping: AbortSignal;
}

/** The activity of the workflow `validation/<id>`. */
export function createValidationActivities({
  database: { pool },
  checker,
  log,
  stopping,
}: ValidationActivityDependencies): ValidationActivities {
  const inTurn = createTurns(LIMITS, stopping);
  return {
    async advanceValidation(operationId, asOf) {
      const accountId = await accountOf(pool, 'validation_operations', operationId);
      return inTurn(accountId, (turn) =>
        advanceValidation({ pool, checker, log }, operationId, presentTime(asOf), turn),
      );
    },
  };
}
