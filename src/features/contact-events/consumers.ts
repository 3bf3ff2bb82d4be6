import type { Queryable } from '../../platform/db/queryable.ts';
import type { NewEvent, WriteOutcome } from './write-events.ts';

/** Any fixed number: the key space of the advisory locks below. */
const CONTACT_LOCKS = 1_409_026;
/** Contacts share this many locks, so that a group of events never takes more. */
const LOCKS = 256;

/** A tracked event as consumers see it. */
export interface TrackedEvent {
  id: number;
  accountId: number;
  brandId: number;
  contactId: number;
  name: string;
  data: Record<string, unknown>;
  /** How many flows led to it; 0 for events that clients track. */
  chainDepth: number;
  createdAt: Date;
}

/**
 * What acts on tracked events inside the transaction that writes them. Test events and backfilled events reach no
 * consumer.
 */
export interface TrackedEventConsumer {
  /**
   * Returns which of these brands have something that waits for events. Only their events are consumed, and only for
   * them the transaction locks contacts, see {@link lockContacts}.
   */
  needsLocks(brandIds: readonly number[]): Promise<ReadonlySet<number>>;
  /**
   * Acts on events of those brands.
   * @param trx the transaction that has written them
   * @returns what to do after the commit, such as waking a loop; null: nothing
   */
  consume(trx: Queryable, events: readonly TrackedEvent[]): Promise<(() => void) | null>;
}

/** The brands that each consumer acts on. */
export type ActiveBrands = ReadonlyMap<TrackedEventConsumer, ReadonlySet<number>>;

/** Asks the consumers which of the events' brands they act on. Consumers without any are left out. */
export async function findActiveBrands(
  consumers: readonly TrackedEventConsumer[],
  events: readonly NewEvent[],
): Promise<ActiveBrands> {
  if (consumers.length === 0) return new Map();
  const brandIds = [...new Set(events.map((event) => event.brand_id))];
  const active = await Promise.all(
    consumers.map(async (consumer) => [consumer, await consumer.needsLocks(brandIds)] as const),
  );
  return new Map(active.filter(([, brands]) => brands.size > 0));
}

/**
 * Takes the locks of contacts until the transaction ends, in ascending order. Events take them shared, so that they do
 * not wait for each other. What begins to wait for events of a contact takes its lock exclusively and then looks for
 * events that were written before, so that none slips between.
 */
export async function lockContacts(
  trx: Queryable,
  contactIds: readonly number[],
  mode: 'shared' | 'exclusive' = 'shared',
): Promise<void> {
  const locks = [...new Set(contactIds.map((id) => id % LOCKS))].sort((one, other) => one - other);
  if (locks.length === 0) return;
  const take = mode === 'shared' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock';
  await trx.query(
    `select ${take}($1, l.lock) from unnest($2::integer[]) with ordinality as l (lock, place) order by l.place`,
    [CONTACT_LOCKS, locks],
  );
}

function trackedEvent(event: NewEvent, outcome: WriteOutcome): TrackedEvent {
  return {
    id: event.id,
    accountId: event.account_id,
    brandId: event.brand_id,
    contactId: outcome.contact_id as number,
    name: event.event,
    data: event.data ?? {},
    chainDepth: 0,
    createdAt: outcome.created_at,
  };
}

/**
 * Hands the events that were written to the consumers.
 * @param outcomes in the order of the events
 * @returns what to do after the commit
 */
export async function consumeEvents(
  trx: Queryable,
  active: ActiveBrands,
  events: readonly NewEvent[],
  outcomes: readonly WriteOutcome[],
): Promise<(() => void)[]> {
  const live = events.flatMap((event, index) => {
    const outcome = outcomes[index] as WriteOutcome;
    const consumed = outcome.written && !event.test && event.occurred_at === null;
    return consumed ? [trackedEvent(event, outcome)] : [];
  });
  const afterCommit: (() => void)[] = [];
  for (const [consumer, brands] of active) {
    const own = live.filter((event) => brands.has(event.brandId));
    const then = own.length > 0 ? await consumer.consume(trx, own) : null;
    if (then) afterCommit.push(then);
  }
  return afterCommit;
}
