import type { Queryable } from '../../../platform/db/queryable.ts';
import { type ChainedResult, trackChained, type TrackedEventConsumer } from '../../contact-events/service.ts';
import { changeContactData } from '../../contacts/service.ts';
import { addToLists, existingListIds, removeFromList } from '../../lists/service.ts';
import { chainEntries } from '../entry/entries.ts';
import type { EventStep, ListStep, UpdateContactStep } from '../steps/index.ts';
import type { StepResult, World } from './interpreter.ts';

/** An event of a client may start a flow, whose event starts a second, and so on up to this many. */
export const MAX_CHAIN_DEPTH = 5;

/** What the steps need of the run. */
export interface RunOfContact {
  id: number;
  account_id: number;
  brand_id: number;
  contact_id: number;
  /** Test runs track test events, and leave contacts and lists as they are: these belong to live flows, too. */
  test: boolean;
  chain_depth: number;
  /** The event that started the run. */
  event: { data?: Readonly<Record<string, unknown>> | null } | null;
}

export interface ContactStepsDeps {
  trx: Queryable;
  asOf: Date;
  /** What acts on tracked events. */
  consumers: readonly TrackedEventConsumer[];
  /** Receives what to do after the commit. */
  afterCommit: (() => void)[];
}

const skipped = (reason: string): StepResult => ({ outcome: 'skipped', detail: { reason } });

function resultOf(result: ChainedResult): StepResult {
  if (result.status !== 'refused') return { outcome: 'done', eventId: result.id };
  const { reason } = result;
  const detail = reason === 'invalid_data' ? { reason, message: `data ${result.message}` } : { reason };
  return { outcome: 'refused', detail };
}

/**
 * The steps that change the contact, inside the transaction of a run.
 *
 * An `event` step takes the lock of the brand's events and then the contact's. A transaction that locks its contact takes
 * the lock of the brand before, if the flow has such a step.
 */
export function createContactSteps(
  { trx, asOf, consumers, afterCommit }: ContactStepsDeps,
  run: RunOfContact,
): Pick<World, 'trackEvent' | 'updateContact' | 'changeList'> {
  const { account_id: accountId, brand_id: brandId, contact_id: contactId, test } = run;

  async function trackEvent(step: EventStep): Promise<StepResult> {
    const chainDepth = run.chain_depth + 1;
    if (chainDepth > MAX_CHAIN_DEPTH) {
      return { outcome: 'refused', detail: { reason: 'chain_depth', depth: chainDepth } };
    }
    const forwarded = step.forward_event_data ? run.event?.data : null;
    const { result, afterCommit: then } = await trackChained(trx, consumers, {
      accountId,
      brandId,
      contactId,
      name: step.event_name,
      data: { ...forwarded, ...step.data },
      test,
      key: `flow-run/${run.id}/${step.id}/0`,
      chainDepth,
    });
    afterCommit.push(...then);
    return resultOf(result);
  }

  async function updateContact(step: UpdateContactStep): Promise<StepResult> {
    if (test) return skipped('test');
    const changed = await changeContactData(trx, { brandId, contactId, at: asOf }, step.data);
    if (changed === 'changed') return { outcome: 'done' };
    if (changed === 'gone') return skipped('contact_deleted');
    return { outcome: 'refused', detail: { reason: 'invalid_data', message: `data ${changed.problem}` } };
  }

  async function changeList(step: ListStep): Promise<StepResult> {
    if (test) return skipped('test');
    const [listId] = await existingListIds(trx, { brandId }, [step.list_id]);
    if (listId === undefined) return skipped('list_deleted');
    await chainEntries(trx, run.chain_depth + 1);
    const changed =
      step.type === 'add_to_list'
        ? await addToLists(trx, [contactId], [listId])
        : await removeFromList(trx, [contactId], listId);
    return { outcome: 'done', detail: { changed: changed.length > 0 } };
  }

  return { trackEvent, updateContact, changeList };
}
