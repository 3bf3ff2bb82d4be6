import type pg from 'pg';
import { createCoalescer } from '../../../platform/db/coalescer.ts';
import { inTransaction, isConnectionError } from '../../../platform/db/queryable.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import type { EventPublisher } from '../../../platform/events/publish.ts';
import { accountsToFence, type DeliveryFact } from '../../ledger/facts/delivery-fact.ts';
import { recordFacts } from '../../ledger/facts/facts.ts';
import { type RecipientFence, waitForEach } from '../../ledger/consent/recipient-fence.ts';

export interface ReportRecordingDeps {
  pool: pg.Pool;
  waker: Waker;
  events: EventPublisher;
  fence: RecipientFence;
}

/**
 * Records what a mail reports. After it resolves, only batches that already had their intent can still be sent to a
 * recipient that the report has suppressed.
 * @returns the number of new facts
 * @throws the database's error; then nothing was recorded, or it is unknown whether it was
 */
export type RecordReport = (facts: readonly DeliveryFact[]) => Promise<number>;

const MAX_GROUP = 100;
const GROUPS_AT_ONCE = 2;

type Settled = { recorded: number } | { error: unknown };

/** Creates the recording. Mails that arrive together are recorded in one transaction. */
export function createReportRecording({ pool, waker, events, fence }: ReportRecordingDeps): RecordReport {
  async function record(facts: readonly DeliveryFact[]): Promise<number> {
    const { queued, recorded } = await inTransaction(pool, (client) => recordFacts(client, facts, events));
    for (const channel of queued.keys()) waker.wake(channel);
    return recorded;
  }

  async function recordGroup(group: (readonly DeliveryFact[])[]): Promise<Settled[]> {
    try {
      const recorded = await record(group.flat());
      // The count of a group is attributed to its first mail, because it is only logged.
      return group.map((_facts, index) => ({ recorded: index === 0 ? recorded : 0 }));
    } catch (error) {
      if (group.length === 1 || isConnectionError(error)) return group.map(() => ({ error }));
    }
    // One mail must not make the others fail, so each is recorded separately.
    const settled: Settled[] = [];
    for (const facts of group) {
      settled.push(
        await record(facts).then(
          (recorded) => ({ recorded }),
          (error: unknown) => ({ error }),
        ),
      );
    }
    return settled;
  }

  const coalescer = createCoalescer<readonly DeliveryFact[], Settled>({
    maxGroupSize: MAX_GROUP,
    concurrency: GROUPS_AT_ONCE,
    run: recordGroup,
  });
  return async (facts) => {
    if (facts.length === 0) return 0;
    const settled = await coalescer.submit(facts);
    if ('error' in settled) throw settled.error;
    await waitForEach(fence, accountsToFence(facts));
    return settled.recorded;
  };
}
