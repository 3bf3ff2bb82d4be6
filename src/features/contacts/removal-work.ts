import type pg from 'pg';
import type { Logger } from 'pino';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { repeat, type Repeating } from '../../platform/processes/repeat.ts';
import { deleteContactEvents } from '../contact-events/service.ts';
import { clearMessages } from './message-removal.ts';
import type { RemovedAddress } from './remove.ts';

const PAUSE_MS = 1_000;
/** Messages or events of one transaction. A message has up to a few hundred tracked fetches. */
const PAGE_SIZE = 200;
/** When to go through everything again: a request may have been writing, and messages were on their way. */
const AGAIN = `interval '1 minute'`;

/** A contact that was deleted. */
export interface RemovedContact {
  accountId: number;
  brandId: number;
  contactId: number;
  /** In the form in which addresses are compared: an email address, a phone number, and former ones. */
  addressKeys: readonly string[];
}

/**
 * What another feature clears of a deleted contact.
 * @param limit rows at most in one call
 * @returns whether there may be more
 */
export type RemovalStep = (trx: Queryable, contact: RemovedContact, limit: number) => Promise<boolean>;

interface RemovalRow {
  id: number;
  account_id: number;
  brand_id: number;
  contact_id: number;
  addresses: RemovedAddress[];
  step: number;
  after_id: number;
  waiting: boolean;
}

/** What a page of work leaves to do. */
interface Progress {
  /** The step is done. */
  done: boolean;
  after?: number;
  underWay?: boolean;
}

type Step = (trx: Queryable, row: RemovalRow) => Promise<Progress>;

const events: Step = async (trx, { contact_id: contactId }) => {
  const deleted = await deleteContactEvents(trx, contactId, PAGE_SIZE);
  return { done: deleted < PAGE_SIZE };
};

const messagesTo =
  ({ key, until }: RemovedAddress): Step =>
  async (trx, { brand_id: brandId, after_id: after }) => {
    const { last, underWay } = await clearMessages(trx, { brandId, key, until }, after, PAGE_SIZE);
    return { done: last === null, after: last ?? 0, underWay };
  };

const softBounces: Step = async (trx, { account_id: accountId, addresses }) => {
  await trx.query(
    `with found as materialized (
       select address_key from soft_bounces where account_id = $1 and address_key = any($2)
       order by address_key for update)
     delete from soft_bounces s using found f where s.account_id = $1 and s.address_key = f.address_key`,
    [accountId, addresses.map(({ key }) => key)],
  );
  return { done: true };
};

const furtherStep =
  (step: RemovalStep): Step =>
  async (trx, row) => {
    const { account_id: accountId, brand_id: brandId, contact_id: contactId, addresses } = row;
    const contact = { accountId, brandId, contactId, addressKeys: addresses.map(({ key }) => key) };
    return { done: !(await step(trx, contact, PAGE_SIZE)) };
  };

const stepsOf = (row: RemovalRow, further: readonly RemovalStep[]): Step[] => [
  events,
  ...row.addresses.map(messagesTo),
  softBounces,
  ...further.map(furtherStep),
];

async function advance(trx: Queryable, row: RemovalRow, progress: Progress, isLast: boolean, asOf: Date) {
  const waiting = row.waiting || (progress.underWay ?? false);
  if (!progress.done || !isLast) {
    const step = progress.done ? row.step + 1 : row.step;
    const after = progress.done ? 0 : (progress.after ?? 0);
    await trx.query('update contact_removals set step = $2, after_id = $3, waiting = $4 where id = $1', [
      row.id,
      step,
      after,
      waiting,
    ]);
  } else if (waiting) {
    await trx.query(
      `update contact_removals set step = 0, after_id = 0, waiting = false, due_at = $2::timestamptz + ${AGAIN}
       where id = $1`,
      [row.id, asOf],
    );
  } else {
    await trx.query('delete from contact_removals where id = $1', [row.id]);
  }
}

/**
 * Clears one page of what is left of a deleted contact, in one transaction with the progress: a crash loses no more than
 * the page. Several processes may do so at once.
 * @returns whether there was something to do
 */
export function clearPage(
  pool: pg.Pool,
  { asOf, further }: { asOf: Date; further: readonly RemovalStep[] },
): Promise<boolean> {
  return inTransaction(pool, async (trx) => {
    const { rows } = await trx.query<RemovalRow>(
      'select * from contact_removals where due_at <= $1 order by due_at limit 1 for update skip locked',
      [asOf],
    );
    const [row] = rows;
    if (!row) return false;
    const steps = stepsOf(row, further);
    const progress = (await steps[row.step]?.(trx, row)) ?? { done: true };
    await advance(trx, row, progress, row.step >= steps.length - 1, asOf);
    return true;
  });
}

/** Clears what is left of deleted contacts. Any number of processes may run this. */
export function startContactRemoval({
  pool,
  log,
  further = [],
}: {
  pool: pg.Pool;
  log: Logger;
  further?: readonly RemovalStep[];
}): Repeating {
  return repeat(async () => ((await clearPage(pool, { asOf: new Date(), further })) ? 0 : PAUSE_MS), {
    log,
    name: 'clearing deleted contacts',
  });
}
