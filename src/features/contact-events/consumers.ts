import type { Queryable } from '../../platform/db/queryable.ts';
import type { CausingMail } from './draft.ts';
import type { NewEvent, WriteOutcome } from './write-events.ts';

/** Key spaces of the advisory locks below. Any fixed numbers. */
const CONTACT_LOCKS = 1_409_026;
const BRAND_LOCKS = 1_409_027;
/** Number of locks that brands share. No transaction keeps one for long. */
const MAX_BRAND_LOCKS = 256;
/**
 * Number of locks for contacts: so many that two contacts hardly ever share one, and a slow contact does not delay
 * events of others.
 */
const MAX_CONTACT_LOCKS = 2 ** 31;

/** A tracked event as consumers see it. */
export interface TrackedEvent {
  id: number;
  accountId: number;
  brandId: number;
  contactId: number;
  name: string;
  data: Record<string, unknown>;
  amount: number | null;
  resourceUid: string | null;
  resourceName: string | null;
  resourceUrl: string | null;
  /** A test event must not change anything that live events change. */
  test: boolean;
  /** Number of flow runs that led to it, one after another; 0 if no flow tracked it. */
  chainDepth: number;
  /** The mail that caused it, itself or through flows; null: none did. */
  mail: CausingMail | null;
  createdAt: Date;
}

/**
 * Acts on tracked events in the transaction that writes them. Consumers do not see backfilled events.
 *
 * A brand that begins to wait for events misses none of them: a transaction that changes what `needsLocks` returns for
 * a brand first takes the brand's lock exclusively, see {@link lockBrands}, and commits soon. Transactions that write
 * events share the lock, from before they call `needsLocks` until they commit. So each event is either in the table
 * before the change, or it is consumed. Without consumers, nothing is locked or asked.
 */
export interface TrackedEventConsumer {
  /**
   * The name of an SQL function `(space integer, locks integer[], brand_ids bigint[]) returns boolean`. It takes these
   * locks of the brands, shared, and then returns whether `needsLocks` would return any of the brands. If all consumers
   * have a gate, one statement without a transaction writes events of brands that wait for none.
   */
  readonly gate?: string;
  /**
   * Returns which of these brands wait for events. Only their events are consumed, and only their contacts are locked,
   * see {@link lockContacts}.
   * @param trx the transaction that will write the events. Read the answer in it: a cached answer may be older than the
   *   lock
   */
  needsLocks(trx: Queryable, brandIds: readonly number[]): Promise<ReadonlySet<number>>;
  /**
   * Acts on events of those brands.
   * @param trx the transaction that has written them
   * @returns what to do after the commit, such as waking a loop; null: nothing
   */
  consume(trx: Queryable, events: readonly TrackedEvent[]): Promise<(() => void) | null>;
}

/** The brands that each consumer acts on. */
export type ActiveBrands = ReadonlyMap<TrackedEventConsumer, ReadonlySet<number>>;

/** Whether consumers may see an event: it was not backfilled. */
export const isLive = ({ occurred_at: occurredAt }: Pick<NewEvent, 'occurred_at'>) => occurredAt === null;

/**
 * Locks the brands of the events and asks the consumers on which of them they act. Leaves out consumers without any.
 */
export async function findActiveBrands(
  trx: Queryable,
  consumers: readonly TrackedEventConsumer[],
  events: readonly NewEvent[],
): Promise<ActiveBrands> {
  const active = new Map<TrackedEventConsumer, ReadonlySet<number>>();
  const brandIds = [...new Set(events.filter(isLive).map((event) => event.brand_id))];
  if (consumers.length === 0 || brandIds.length === 0) return active;
  await lockBrands(trx, brandIds);
  for (const consumer of consumers) {
    const brands = await consumer.needsLocks(trx, brandIds);
    if (brands.size > 0) active.set(consumer, brands);
  }
  return active;
}

type LockMode = 'shared' | 'exclusive';

/** In ascending order, so that two transactions do not deadlock. */
const locksOf = (ids: readonly number[], max: number) =>
  [...new Set(ids.map((id) => id % max))].sort((one, other) => one - other);

/** The brands of events that consumers may see, with the locks for `TrackedEventConsumer.gate`. */
export function gateOf(events: readonly NewEvent[]): { space: number; locks: number[]; brandIds: number[] } {
  const brandIds = [...new Set(events.filter(isLive).map((event) => event.brand_id))];
  return { space: BRAND_LOCKS, locks: locksOf(brandIds, MAX_BRAND_LOCKS), brandIds };
}

async function lock(trx: Queryable, space: number, locks: readonly number[], mode: LockMode): Promise<void> {
  if (locks.length === 0) return;
  const take = mode === 'shared' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock';
  await trx.query(
    `select ${take}($1, l.lock) from unnest($2::integer[]) with ordinality as l (lock, place) order by l.place`,
    [space, locks],
  );
}

/**
 * Takes the locks of brands until the transaction ends, before those of contacts. Transactions that write events share
 * them. A transaction that makes a brand begin or cease to wait for events takes its lock exclusively, see {@link
 * TrackedEventConsumer}.
 */
export function lockBrands(
  trx: Queryable,
  brandIds: readonly number[],
  mode: LockMode = 'shared',
): Promise<void> {
  return lock(trx, BRAND_LOCKS, locksOf(brandIds, MAX_BRAND_LOCKS), mode);
}

/**
 * Takes the locks of contacts until the transaction ends, in ascending order. Transactions that write events share
 * them, so that they do not wait for each other. A transaction that begins to wait for events of a contact takes its
 * lock exclusively and then reads the events that were written before, so that it misses none.
 */
export function lockContacts(
  trx: Queryable,
  contactIds: readonly number[],
  mode: LockMode = 'shared',
): Promise<void> {
  return lock(trx, CONTACT_LOCKS, locksOf(contactIds, MAX_CONTACT_LOCKS), mode);
}

function trackedEvent(event: NewEvent, outcome: WriteOutcome): TrackedEvent {
  return {
    id: event.id,
    accountId: event.account_id,
    brandId: event.brand_id,
    contactId: outcome.contact_id as number,
    name: event.event,
    data: event.data ?? {},
    amount: event.amount,
    resourceUid: event.resource_uid,
    resourceName: event.resource_name,
    resourceUrl: event.resource_url,
    test: event.test,
    chainDepth: event.chain_depth,
    mail: event.mail,
    createdAt: outcome.created_at,
  };
}

/**
 * Passes the events that were written to the consumers.
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
    return outcome.written && isLive(event) ? [trackedEvent(event, outcome)] : [];
  });
  const afterCommit: (() => void)[] = [];
  for (const [consumer, brands] of active) {
    const own = live.filter((event) => brands.has(event.brandId));
    const then = own.length > 0 ? await consumer.consume(trx, own) : null;
    if (then) afterCommit.push(then);
  }
  return afterCommit;
}
