import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import type { Logger } from 'pino';
import { AppError, type ValidationErrors } from '../../errors.ts';
import { createIdAllocator } from '../../platform/db/id-allocator.ts';
import { inTransaction, isConnectionError, type Queryable } from '../../platform/db/queryable.ts';
import { isRefusedData } from '../../platform/db/refused-data.ts';
import {
  consumeEvents,
  findActiveBrands,
  gateOf,
  isLive,
  lockContacts,
  type TrackedEventConsumer,
} from './consumers.ts';
import { type BrandCoalescer, createBrandCoalescer, type ItemOutcome } from './brand-coalescer.ts';
import type { EventDraft } from './draft.ts';
import { createEventNames, MAX_NAMES, MAX_TEST_NAMES } from './names.ts';
import {
  createGate,
  EVENT_ID_SEQUENCE,
  findContactsOf,
  findKept,
  findNamedContacts,
  findWritten,
  type Gate,
  type KeptEvent,
  type NewEvent,
  writeEvents,
  writeIdleEvents,
  type WriteOutcome,
} from './write-events.ts';

/** Result of an event: written now, written by an earlier request with its key, refused, or not written. */
export type TrackResult =
  | { status: 'created'; event: NewEvent; outcome: WriteOutcome }
  | { status: 'existing'; kept: KeptEvent }
  | { status: 'invalid'; errors: ValidationErrors }
  | { status: 'failed'; error: unknown };

/** Creates the contacts of unknown addresses of one brand. Existing contacts do not change. */
export type EnsureContacts = (
  trx: Queryable,
  tenant: { accountId: number; brandId: number },
  addresses: readonly { address: string; key: string }[],
) => Promise<unknown>;

export interface TrackDeps {
  pool: pg.Pool;
  /** Null: events of unknown addresses are refused. */
  ensureContacts: EnsureContacts | null;
  consumers: readonly TrackedEventConsumer[];
  log: Logger;
}

/**
 * An event whose contact exists has its result now. One whose contact must be created waits for transactions that
 * change subscriptions of its brand. It has its result later, so that events of other brands do not wait for it.
 */
export type Tracked = { now: TrackResult } | { later: Promise<TrackResult> };

/**
 * Maximum number of tries to write an event whose contact or earlier event is deleted meanwhile. More than two are
 * hardly possible.
 */
const MAX_LOOKS = 3;
/** Maximum number of events whose contacts are created together: a few megabytes at most. */
const MAX_CREATED_AT_ONCE = 100;
/** Maximum number of brands whose contacts are created at the same time. Each uses a connection. */
const MAX_CREATING_BRANDS = 4;
/**
 * How long a brand waits for locks before it gives the connection to other brands, in ms: its subscriptions may be
 * changing.
 */
const LOCK_TIMEOUT_MS = 1_000;
/** Maximum time that an event waits until its contact is created, in ms. */
const MAX_CREATION_MS = 20_000;

const MAX_BUSY_BRANDS = 10_000;

type Results = Map<NewEvent, TrackResult>;

/** The state that all groups of a tracker share. */
interface Shared extends TrackDeps {
  /** Null: not all consumers have one. */
  gate: Gate | null;
  /**
   * Brands on which a consumer acted recently. Their events skip the statement that would probably find the gate
   * closed.
   */
  busyBrands: LRUCache<number, true>;
}

function gateOfAll(consumers: readonly TrackedEventConsumer[]): Gate | null {
  const functions = consumers.flatMap(({ gate }) => gate ?? []);
  return functions.length === consumers.length ? createGate(functions) : null;
}

/** The outcome of a write, or its error. `busy`: nothing was written, because the brand's contacts are locked. */
type Attempt = { outcome: WriteOutcome } | { error: unknown } | 'busy';

type Found = Pick<WriteOutcome, 'by_id' | 'by_email'>;

const isCreatable = (event: EventDraft, { by_email: byEmail }: Found) =>
  event.contact_id === null && byEmail === null;

/** Why the contact of an event was not found; null if it was. */
function contactProblem(event: EventDraft, outcome: Found): ValidationErrors | null {
  const { by_id: byId, by_email: byEmail } = outcome;
  if (event.contact_id !== null && byId === null) return { contact_id: ['is not a contact of the brand'] };
  if (event.contact_id !== null && event.email !== null && byId !== byEmail) {
    return { contact_email: ['is not the address of the contact in contact_id'] };
  }
  return isCreatable(event, outcome) ? { contact_email: ['belongs to no contact'] } : null;
}

/** @param create whether to create the contacts of unknown addresses; then all events must be of one brand */
async function writeInTransaction(
  events: readonly NewEvent[],
  deps: Shared,
  create: boolean,
): Promise<WriteOutcome[]> {
  const { outcomes, afterCommit } = await inTransaction(deps.pool, async (trx) => {
    if (create) await trx.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
    const active = await findActiveBrands(trx, deps.consumers, events);
    if (create) {
      const { account_id: accountId, brand_id: brandId } = events[0] as NewEvent;
      const addresses = events.flatMap(({ email }) => email ?? []);
      await deps.ensureContacts?.(trx, { accountId, brandId }, addresses);
    }
    const brands = [...active.values()];
    const isConsumed = (event: NewEvent) => brands.some((ids) => ids.has(event.brand_id));
    for (const event of events) {
      if (isConsumed(event)) deps.busyBrands.set(event.brand_id, true);
      else if (isLive(event)) deps.busyBrands.delete(event.brand_id);
    }
    const locking = events.filter(isConsumed);
    if (locking.length > 0) await lockContacts(trx, await findContactsOf(trx, locking));
    const written = await writeEvents(trx, events);
    return { outcomes: written, afterCommit: await consumeEvents(trx, active, events, written) };
  });
  for (const then of afterCommit) {
    try {
      then();
    } catch (error) {
      // The events are committed: after an error here, `attempt` would write them again.
      deps.log.error({ err: error }, 'work after the commit of tracked events failed');
    }
  }
  return outcomes;
}

/** Writes events whose contacts exist in one statement, unless consumers act on them. */
async function writeGroup(
  events: readonly NewEvent[],
  deps: Shared,
  create: boolean,
): Promise<WriteOutcome[]> {
  const mayBeConsumed = deps.consumers.length > 0 && events.some(isLive);
  if (!mayBeConsumed && !create) return writeEvents(deps.pool, events);
  if (!create && deps.gate && !events.some((event) => deps.busyBrands.has(event.brand_id))) {
    const written = await writeIdleEvents(deps.pool, events, deps.gate, gateOf(events));
    if (written) return written;
  }
  return writeInTransaction(events, deps, create);
}

/** After the connection was lost before the commit was confirmed: events that are in the database were accepted. */
async function attemptsAfterLostConnection(
  events: readonly NewEvent[],
  pool: pg.Pool,
  cause: unknown,
): Promise<Attempt[]> {
  const error = new AppError('unavailable', 'the database connection was lost; try again', { cause });
  const written = await findWritten(pool, events).catch(() => new Map<number, WriteOutcome>());
  return events.map((event) => {
    const outcome = written.get(event.id);
    return outcome ? { outcome } : { error };
  });
}

const DEADLOCK = '40P01';
const LOCK_TIMEOUT = '55P03';

/** Why a whole group failed; null: probably because of one of its events. */
function groupFailure(error: unknown): AppError | null {
  if (error instanceof AppError) return error;
  if (isRefusedData(error)) return null;
  // A consumer has thrown it, perhaps because of one event.
  if (!('severity' in (error as Error))) return null;
  return new AppError('unavailable', 'the events could not be written; try again', { cause: error });
}

/**
 * Writes events. If one of them makes that fail, writes each half separately, so that the others succeed. A time-out
 * fails all of them: each half might take as long, and later events are waiting.
 */
async function attempt(
  events: readonly NewEvent[],
  deps: Shared,
  create: boolean,
  isRepetition = false,
): Promise<Attempt[]> {
  try {
    const outcomes = await writeGroup(events, deps, create);
    return outcomes.map((outcome) => ({ outcome }));
  } catch (error) {
    if (isConnectionError(error)) return attemptsAfterLostConnection(events, deps.pool, error);
    const { code } = error as { code?: string };
    if (code === LOCK_TIMEOUT) return events.map(() => 'busy');
    if (code === DEADLOCK && !isRepetition) return attempt(events, deps, create, true);
    const failure = groupFailure(error);
    if (failure) return events.map(() => ({ error: failure }));
    if (events.length === 1) return [{ error }];
    const middle = Math.ceil(events.length / 2);
    const first = await attempt(events.slice(0, middle), deps, create);
    return [...first, ...(await attempt(events.slice(middle), deps, create))];
  }
}

/** Events without a result yet. */
interface Undecided {
  /** No contact has their address so far. */
  creatable: NewEvent[];
  /** Their contact or their key has just changed, or is locked. */
  again: NewEvent[];
}

/** Writes events and sets those of their results that are known. */
async function decide(
  events: readonly NewEvent[],
  results: Results,
  deps: Shared,
  create: boolean,
): Promise<Undecided> {
  const undecided: Undecided = { creatable: [], again: [] };
  const unwritten: [NewEvent, WriteOutcome][] = [];
  for (const [index, each] of (await attempt(events, deps, create)).entries()) {
    const event = events[index] as NewEvent;
    if (each === 'busy') undecided.again.push(event);
    else if ('error' in each) results.set(event, { status: 'failed', error: each.error });
    else if (each.outcome.written) results.set(event, { status: 'created', event, outcome: each.outcome });
    else unwritten.push([event, each.outcome]);
  }
  const asking = unwritten.map(([event]) => event);
  const kept = await findKept(deps.pool, asking).catch((cause: unknown) => {
    const error = new AppError('unavailable', 'the database is unavailable; try again', { cause });
    for (const event of asking) results.set(event, { status: 'failed', error });
    return null;
  });
  if (!kept) return undecided;
  for (const [event, outcome] of unwritten) {
    const earlier = kept.get(event.id);
    const problem = contactProblem(event, outcome);
    if (earlier) results.set(event, { status: 'existing', kept: earlier });
    // A test key creates no contacts.
    else if (deps.ensureContacts && !event.test_key && isCreatable(event, outcome))
      undecided.creatable.push(event);
    else if (problem) results.set(event, { status: 'invalid', errors: problem });
    else undecided.again.push(event);
  }
  return undecided;
}

function notWritten(): TrackResult {
  return {
    status: 'failed',
    error: new AppError('unavailable', 'the event could not be written; try again'),
  };
}

/**
 * Writes the events whose contacts exist, and retries those for which something has changed meanwhile.
 * @returns the events whose contacts must be created
 */
async function writeKnown(given: readonly NewEvent[], results: Results, deps: Shared): Promise<NewEvent[]> {
  const creatable: NewEvent[] = [];
  let events: readonly NewEvent[] = given;
  for (let look = 0; look < MAX_LOOKS && events.length > 0; look += 1) {
    const left = await decide(events, results, deps, false);
    creatable.push(...left.creatable);
    events = left.again;
  }
  for (const event of events) results.set(event, notWritten());
  return creatable;
}

/** An event that waits until its contact is created. */
interface Creation {
  event: NewEvent;
  /** In the time of `performance.now()`. */
  until: number;
}

/** Creates the contacts of events and writes the events. Brands do not wait for each other. */
function createCreator(deps: Shared): BrandCoalescer<Creation, TrackResult> {
  return createBrandCoalescer({
    maxGroupSize: MAX_CREATED_AT_ONCE,
    atOnce: MAX_CREATING_BRANDS,
    async run(group) {
      const results: Results = new Map();
      const events = group.map(({ event }) => event);
      await decide(events, results, deps, true);
      return group.map(({ event, until }): ItemOutcome<TrackResult> => {
        const result = results.get(event);
        if (result) return { result };
        return performance.now() < until ? 'again' : { result: notWritten() };
      });
    },
  });
}

function nameProblem({ test_key: testKey }: EventDraft): ValidationErrors {
  const already = `is a new name, and the brand has ${MAX_NAMES.toLocaleString('en')} already`;
  return { event: [testKey ? `${already}, or ${MAX_TEST_NAMES} of test keys` : already] };
}

/**
 * Writes groups of tracked events with their keys. An event is committed before its result is returned.
 * @returns a function that returns the results of the events, in their order
 * @throws AppError unavailable
 */
export function createTracker(given: TrackDeps): (drafts: readonly EventDraft[]) => Promise<Tracked[]> {
  const deps: Shared = {
    ...given,
    gate: gateOfAll(given.consumers),
    busyBrands: new LRUCache({ max: MAX_BUSY_BRANDS }),
  };
  const creator = createCreator(deps);
  const ids = createIdAllocator(deps.pool, EVENT_ID_SEQUENCE);
  const names = createEventNames(deps.pool);

  function create(event: NewEvent): Tracked {
    const until = performance.now() + MAX_CREATION_MS;
    const creation = creator.submit(event.brand_id, { event, until });
    return { later: creation.catch((error: unknown): TrackResult => ({ status: 'failed', error })) };
  }

  /**
   * A test key adds a name only if its event has a contact, so that it cannot fill the brand's names with made-up ones.
   */
  async function problemsOfTestKeys(
    drafts: readonly EventDraft[],
  ): Promise<Map<EventDraft, ValidationErrors>> {
    const ofTestKeys = drafts.filter(({ test_key }) => test_key);
    const found = await findNamedContacts(deps.pool, ofTestKeys);
    const problems = ofTestKeys.map((draft, index) => contactProblem(draft, found[index] as Found));
    return new Map(ofTestKeys.flatMap((draft, index) => (problems[index] ? [[draft, problems[index]]] : [])));
  }

  return async (drafts) => {
    const problems = await problemsOfTestKeys(drafts);
    const nameIdOf = await names.intern(
      drafts.map((draft) => {
        const adder = problems.has(draft) ? null : draft.test_key ? 'test' : 'live';
        return { brand_id: draft.brand_id, name: draft.event, adder };
      }),
    );
    const taken = await ids.take(drafts.length);
    const events = drafts.map((draft, index): NewEvent | null => {
      const nameId = nameIdOf({ brand_id: draft.brand_id, name: draft.event });
      return nameId === null ? null : { ...draft, id: taken[index] as number, name_id: nameId };
    });
    const named = events.filter((event) => event !== null);
    const results: Results = new Map();
    const creatable = named.length > 0 ? await writeKnown(named, results, deps) : [];
    const later = new Map(creatable.map((event) => [event, create(event)]));
    return events.map((event, index): Tracked => {
      const draft = drafts[index] as EventDraft;
      if (!event) return { now: { status: 'invalid', errors: problems.get(draft) ?? nameProblem(draft) } };
      return later.get(event) ?? { now: results.get(event) as TrackResult };
    });
  };
}
