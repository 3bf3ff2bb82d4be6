/**
 * Records batches of blocks in which a provider has accepted every message, which are nearly all batches of a campaign.
 * Such messages have no queue rows and no events of their own, and suppress no addresses, so this statement costs half
 * as much as the function `record_outcomes`. It has the same effects, and can be repeated just as safely.
 */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineSql } from '../../../platform/db/sql/define.ts';
import { blocksOfSql, changedBlocksSql, isDividedSql } from '../blocks/campaign-blocks.ts';
import { CONTACT_COUNTS, contactCtes } from '../effects/contact-effects.ts';
import { countOutcomesSql } from '../effects/leave-queue.ts';
import { countStatsSql } from '../effects/stat-changes.ts';
import { messageClasses, statesBefore, statusList } from '../../terms/message.ts';
import { isPaidByMessage } from '../../terms/units.ts';
import type { OutcomeRecord } from './outcomes.ts';
import type { BatchRecord } from './record.ts';

/** What the messages of a statement have in common. */
interface Shared {
  provider: string | null;
  versionId: number | null;
}

const isPlainlySent = (outcome: OutcomeRecord) =>
  outcome.status === 'sent' &&
  outcome.queue === 'delete' &&
  outcome.message.class === messageClasses.campaign &&
  !outcome.giveBack &&
  // Each text has segments and a price of its own.
  isPaidByMessage(outcome.message.channel) &&
  !outcome.suppress &&
  outcome.failure === null &&
  outcome.bounce === null;

/** @returns what the messages of the batch have in common; null if the general statement has to record it */
function sharedOf({ block, seq, outcomes }: BatchRecord): Shared | null {
  const [first] = outcomes;
  if (!block || seq === null || !first) return null;
  const { provider, versionId } = first;
  const isPlain = outcomes.every(
    (outcome) => isPlainlySent(outcome) && outcome.provider === provider && outcome.versionId === versionId,
  );
  return isPlain ? { provider, versionId } : null;
}

/** Batches that are recorded by one statement. */
export interface SentBatches extends Shared {
  batches: BatchRecord[];
}

/** Divides batches into groups that {@link recordSent} can record, and all others. */
export function divideSent(batches: readonly BatchRecord[]): { sent: SentBatches[]; others: BatchRecord[] } {
  const groups = new Map<string, SentBatches>();
  const others: BatchRecord[] = [];
  for (const batch of batches) {
    const shared = sharedOf(batch);
    if (!shared) {
      others.push(batch);
      continue;
    }
    const key = `${shared.versionId} ${shared.provider}`;
    const group = groups.get(key);
    if (group) group.batches.push(batch);
    else groups.set(key, { ...shared, batches: [batch] });
  }
  return { sent: [...groups.values()], others };
}

/** Formats an array of numbers for PostgreSQL. The driver would quote each number as a text. */
const numbers = (values: readonly number[]) => `{${values.join(',')}}`;

const idsOf = ({ outcomes }: BatchRecord) => outcomes.map(({ messageId }) => messageId);

/** SQL over the block `b`: the number of its messages in these batches. */
const usedSql = `(
      select coalesce(sum(t.used), 0)::int from batches t join intents e on e.owner = t.owner and e.seq = t.seq
      where t.campaign_id = b.campaign_id and t.n = b.n)`;

/** SQL over the block `b`: how many of them are charged: not those that were not sent, as an earlier report has shown. */
const chargedSql = `greatest(0, ${usedSql}
        - (select count(*)::int from uncharged u where u.campaign_id = b.campaign_id and u.n = b.n))`;

export const recordSentInBlocks = defineSql(import.meta.url, './record_sent_in_blocks.sql', {
  table: undefined,
  regions: {
    states_before: () => statusList(statesBefore('sent')),
    changed_blocks: () =>
      changedBlocksSql(
        `select campaign_id, n from batches
      union all ${blocksOfSql(`select campaign_id, id from updated where ${isDividedSql}`)}`,
        { places: usedSql, attempted: usedSql, emails: chargedSql },
      ),
    contacts: () => contactCtes({ sentNow: 'true', failedNow: 'false' }),
    outcomes: () =>
      countOutcomesSql({ sentNow: 'true', attempted: 'true', after: CONTACT_COUNTS, suppressions: false }),
    stats: () => countStatsSql('updated', { sent: 'true' }),
  },
});

/** Records batches of blocks of which every message was sent. */
export async function recordSent(
  client: Queryable,
  { provider, versionId, batches }: SentBatches,
): Promise<void> {
  // All statements lock messages in this order, to avoid deadlocks.
  const outcomes = batches
    .flatMap((batch) => batch.outcomes)
    .sort((one, other) => one.messageId - other.messageId);
  const hasIds = outcomes.some(({ providerMessageId }) => providerMessageId !== null);
  await client.query({
    ...recordSentInBlocks,
    values: [
      numbers(batches.map(({ owner }) => owner)),
      numbers(batches.map(({ seq }) => seq ?? 0)),
      numbers(batches.map(({ block }) => block?.campaignId ?? 0)),
      numbers(batches.map(({ block }) => block?.n ?? 0)),
      numbers(batches.map((batch) => batch.outcomes.length)),
      numbers(outcomes.map(({ messageId }) => messageId)),
      numbers(outcomes.map(({ attempt }) => attempt)),
      outcomes.map(({ response }) => response),
      hasIds ? outcomes.map(({ providerMessageId }) => providerMessageId) : [],
      provider,
      versionId,
      numbers(batches.map((batch) => Math.min(...idsOf(batch)))),
      numbers(batches.map((batch) => Math.max(...idsOf(batch)))),
    ],
  });
}
