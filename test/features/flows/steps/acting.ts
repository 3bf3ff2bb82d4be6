/** A contact with a run, for the tests of steps that act. */
import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { createFlowConsumer } from '../../../../src/features/flows/entry/consumer.ts';
import type { StepResult } from '../../../../src/features/flows/run/interpreter.ts';
import { act, type Step } from '../../../../src/features/flows/steps/index.ts';
import type { Acting, ActingRun } from '../../../../src/features/flows/steps/step.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';

const AS_OF = new Date('2026-03-10T12:00:00Z');

export class ActingStage {
  db!: TestDatabase;
  account!: QueuedAccount;
  contactId = 0;
  /** The channels that were woken after a commit. */
  woken: string[] = [];

  get pool() {
    return this.db.database.pool;
  }

  /** Gives each test an account with one contact. */
  async reset(): Promise<void> {
    this.account = await insertAccount(this.db.database);
    [this.contactId = 0] = await insertContacts(this.pool, this.account, 1, `c${this.account.brandId}-`);
    this.woken = [];
  }

  run(rest: Partial<ActingRun> = {}): ActingRun {
    const { accountId: account_id, brandId: brand_id } = this.account;
    const ids = { id: 1, account_id, brand_id, contact_id: this.contactId };
    return { ...ids, test: false, chain_depth: 0, event: null, ...rest };
  }

  /** Lets a step act in a transaction, as a run does. @param then is done in the transaction, after it */
  async act(step: Step, run = this.run(), then: () => void = () => undefined): Promise<StepResult> {
    const consumers = [createFlowConsumer({ waker: { wake: (channel) => void this.woken.push(channel) } })];
    const afterCommit: (() => void)[] = [];
    const result = await inTransaction(this.pool, async (trx) => {
      const acting: Acting = {
        trx,
        run,
        asOf: AS_OF,
        consumers,
        afterCommit,
        send: () => Promise.reject(new Error('the step does not send')),
        holdLocks: () => undefined,
      };
      const acted = await act(step, acting);
      then();
      return acted;
    });
    for (const each of afterCommit) each();
    if ('exit' in result) throw new Error(`the run ends: ${result.exit}`);
    return result;
  }
}

/** Makes the hooks of a test file. */
export function useActingStage(): ActingStage {
  const stage = new ActingStage();
  beforeAll(async () => {
    stage.db = await createTestDatabase();
  });
  afterAll(() => stage.db.drop());
  beforeEach(() => stage.reset());
  return stage;
}
