import type pg from 'pg';
import type { Logger } from 'pino';
import { inTransaction, isConnectionError, type Queryable } from '../../platform/db/queryable.ts';
import type { Pulse } from '../../platform/processes/pulse.ts';
import type { Repeating } from '../../platform/processes/repeat.ts';
import { deleteContactEvents } from '../contact-events/service.ts';
import { clearAgain, clearMessages } from './message-removal.ts';
import type { RemovedAddress } from './remove.ts';

/** Maximum number of messages or events in one transaction. A message has up to a few hundred tracked fetches. */
const PAGE_SIZE = 200;
/**
 * When to go through everything again, because a request may still have been writing, or messages were on their way.
 */
const AGAIN = `interval '1 minute'`;
/** A step that must wait is retried after half the time since the contact was deleted, but within these bounds. */
const MIN_LOOK_MS = 60_000;
const MAX_LOOK_MS = 600_000;
/** Maximum number of steps in one transaction. All but the last find nothing to clear. */
const MAX_STEPS = 50;
/** After a failed page, the removal waits for a minute, then twice as long after each further failure in a row. */
const RETRY_MS = 60_000;
const MAX_RETRY_MS = 60 * RETRY_MS;

/** A contact that was deleted. */
export interface RemovedContact {
  accountId: number;
  brandId: number;
  contactId: number;
  /** In the form in which addresses are compared: an email address, a phone number, and former ones. */
  addressKeys: readonly string[];
  requestedAt: Date;
}

/**
 * Whether there may be more rows to clear; `nothing`: there was none, so that the transaction may take the next step;
 * `later`: retry when something that takes minutes or hours may have ended.
 */
export type Cleared = boolean | 'nothing' | 'later';

/**
 * Clears the data that another feature has about a deleted contact.
 * @param limit maximum number of rows in one call
 */
export type RemovalStep = (trx: Queryable, contact: RemovedContact, limit: number) => Promise<Cleared>;

/** What a step returns that has cleared a page of rows of each kind. @param counts numbers of cleared rows, by kind */
export function clearedPage(counts: readonly (number | null)[], limit: number): Cleared {
  if (counts.some((count) => (count ?? 0) >= limit)) return true;
  return counts.some((count) => (count ?? 0) > 0) ? false : 'nothing';
}

interface RemovalRow {
  id: number;
  account_id: number;
  brand_id: number;
  contact_id: number;
  addresses: RemovedAddress[];
  requested_at: Date;
  step: number;
  after_id: number;
  waiting: boolean;
  failures: number;
}

/** The result of one page of a step. */
interface Progress {
  /** The step is done. */
  done: boolean;
  /** The step is done, and this page cleared nothing. */
  empty?: boolean;
  after?: number;
  /** All steps must be repeated. */
  underWay?: boolean;
  /** The step must be retried later. */
  later?: boolean;
}

type Step = (trx: Queryable, row: RemovalRow) => Promise<Progress>;

const events: Step = async (trx, { contact_id: contactId }) => {
  const deleted = await deleteContactEvents(trx, contactId, PAGE_SIZE);
  return { done: deleted < PAGE_SIZE, empty: deleted === 0 };
};

/** Must run before `messagesTo`, which records messages of this pass. */
const clearedBefore: Step = async (trx, { id }) => {
  const cleared = await clearAgain(trx, id, PAGE_SIZE);
  return { done: cleared < PAGE_SIZE, empty: cleared === 0 };
};

const messagesTo =
  ({ key, until }: RemovedAddress): Step =>
  async (trx, { id, brand_id: brandId, after_id: after }) => {
    const recipient = { brandId, key, until };
    const { last, found, underWay } = await clearMessages(trx, id, recipient, after, PAGE_SIZE);
    return { done: last === null, after: last ?? 0, underWay, empty: found === 0 };
  };

const softBounces: Step = async (trx, { account_id: accountId, addresses }) => {
  const { rowCount } = await trx.query(
    `with found as materialized (
       select address_key from soft_bounces where account_id = $1 and address_key = any($2)
       order by address_key for update)
     delete from soft_bounces s using found f where s.account_id = $1 and s.address_key = f.address_key`,
    [accountId, addresses.map(({ key }) => key)],
  );
  return { done: true, empty: rowCount === 0 };
};

const furtherStep =
  (step: RemovalStep): Step =>
  async (trx, row) => {
    const { account_id: accountId, brand_id: brandId, contact_id: contactId, addresses } = row;
    const contact = { accountId, brandId, contactId, requestedAt: row.requested_at };
    const more = await step(trx, { ...contact, addressKeys: addresses.map(({ key }) => key) }, PAGE_SIZE);
    return { done: more !== true, later: more === 'later', empty: more === 'nothing' };
  };

const stepsOf = (row: RemovalRow, further: readonly RemovalStep[]): Step[] => [
  events,
  clearedBefore,
  ...row.addresses.map(messagesTo),
  softBounces,
  ...further.map(furtherStep),
];

/**
 * Takes steps until one clears something, and updates the row accordingly.
 * @returns whether the row stays at a step that must be retried later
 */
async function takeSteps(trx: Queryable, row: RemovalRow, steps: readonly Step[]): Promise<boolean> {
  for (let taken = 0; taken < MAX_STEPS; taken += 1) {
    const step = steps[row.step];
    if (!step) return false;
    const { done, empty, after, underWay, later } = await step(trx, row);
    row.waiting ||= underWay ?? false;
    // If all steps are repeated anyway, this one is, too.
    if (later && !row.waiting) return true;
    row.after_id = done ? 0 : (after ?? 0);
    if (done) row.step += 1;
    if (!empty) return false;
  }
  return false;
}

/** When to retry a step that must wait. */
function nextLook({ requested_at: requestedAt }: RemovalRow, asOf: Date): Date {
  const half = (asOf.getTime() - requestedAt.getTime()) / 2;
  return new Date(asOf.getTime() + Math.min(Math.max(half, MIN_LOOK_MS), MAX_LOOK_MS));
}

/**
 * Stores the progress. The row goes behind all others that are due, so that none waits for a large one.
 * @param dueAt of the next page
 */
async function advance(
  trx: Queryable,
  row: RemovalRow,
  isDone: boolean,
  { asOf, dueAt }: { asOf: Date; dueAt: Date },
): Promise<void> {
  if (!isDone) {
    await trx.query(
      'update contact_removals set step = $2, after_id = $3, waiting = $4, failures = 0, due_at = $5 where id = $1',
      [row.id, row.step, row.after_id, row.waiting, dueAt],
    );
  } else if (row.waiting) {
    await trx.query(
      `update contact_removals set step = 0, after_id = 0, waiting = false, failures = 0,
         due_at = $2::timestamptz + ${AGAIN}
       where id = $1`,
      [row.id, asOf],
    );
  } else {
    await trx.query('delete from contact_removals where id = $1', [row.id]);
  }
}

/** Postpones a removal whose page failed, so that it does not stop the others. */
async function postpone(pool: pg.Pool, { id, failures }: RemovalRow, asOf: Date): Promise<void> {
  const delay = Math.min(RETRY_MS * 2 ** Math.min(failures, 10), MAX_RETRY_MS);
  await pool.query(
    'update contact_removals set failures = least(failures + 1, 100), due_at = $2 where id = $1 and failures = $3',
    [id, new Date(asOf.getTime() + delay), failures],
  );
}

export interface ClearOptions {
  asOf: Date;
  further: readonly RemovalStep[];
  log: Logger;
}

/**
 * Clears one page of a deleted contact's data, in one transaction with the progress: a crash loses at most the page.
 * Several processes may do so at once. A page that fails is logged and retried later.
 * @returns whether there was something to do
 */
export async function clearPage(pool: pg.Pool, { asOf, further, log }: ClearOptions): Promise<boolean> {
  const taken: { row?: RemovalRow } = {};
  try {
    await inTransaction(pool, async (trx) => {
      const { rows } = await trx.query<RemovalRow>(
        'select * from contact_removals where due_at <= $1 order by due_at limit 1 for update skip locked',
        [asOf],
      );
      if (!rows[0]) return;
      taken.row = rows[0];
      const row = { ...rows[0] };
      const steps = stepsOf(row, further);
      const isLater = await takeSteps(trx, row, steps);
      const dueAt = isLater ? nextLook(row, asOf) : asOf;
      await advance(trx, row, row.step >= steps.length, { asOf, dueAt });
    });
  } catch (error) {
    if (!taken.row || isConnectionError(error)) throw error;
    await postpone(pool, taken.row, asOf);
    const { contact_id: contactId, step } = taken.row;
    log.warn({ err: error, contactId, step }, 'clearing a deleted contact failed: retrying later');
  }
  return taken.row !== undefined;
}

/** Whether at least `atLeast` deleted contacts wait to be cleared. */
export async function removalsWaiting(db: Queryable, atLeast: number): Promise<boolean> {
  const { rowCount } = await db.query(
    'select 1 from contact_removals where due_at <= now() order by due_at offset $1 limit 1',
    [atLeast - 1],
  );
  return rowCount === 1;
}

/** Clears the data of deleted contacts. Any number of processes may run this. */
export function startContactRemoval({
  pool,
  pulse,
  log,
  further = [],
}: {
  pool: pg.Pool;
  pulse: Pulse;
  log: Logger;
  further?: readonly RemovalStep[];
}): Repeating {
  const queue = {
    name: 'clearing deleted contacts',
    waiting: 'exists (select from contact_removals where due_at <= now())',
  };
  return pulse.repeat(queue, () => clearPage(pool, { asOf: new Date(), further, log }));
}
