import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import { isCounted, type LimitSettings } from '../../delivery/ledger/limits/authority.ts';
import { messageClasses } from '../../delivery/terms/message.ts';
import { isPaidByMessage } from '../../delivery/terms/units.ts';
import {
  accountBeyondPurse,
  fitInto,
  lockMonths,
  PRICED,
  PRICED_EMAILS,
  PRICED_NEW_EMAILS,
  readMessageFunds,
  RESERVED,
  type Reserved,
  UNPRICED,
} from '../../delivery/ledger/accept/reserve.ts';
import { testEvents, testOutcome } from '../../delivery/ledger/accept/test-messages.ts';
import type { WrittenMessage } from '../../delivery/ledger/accept/new-message.ts';
import { writeMessages } from '../../delivery/ledger/accept/write-messages.ts';
import {
  type Addition,
  defineWriting,
  type TrackingDefaults,
} from '../../delivery/ledger/accept/write-statement.ts';
import { AppError } from '../../errors.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import type { MessageDraft } from './draft.ts';
import { findKept, idempotencyKeys } from './kept-keys.ts';
import type { Payers } from './payers.ts';

export interface Submission {
  draft: MessageDraft;
  idempotencyKey: string | null;
  fingerprint: Buffer | null;
}

export interface Row extends Submission {
  id: number;
}

/** Outcome of a group. A message that is neither written nor refused has a key that an earlier request took. */
interface GroupWritten {
  written: Map<number, WrittenMessage>;
  refused: Map<Row, AppError>;
}

/** Writes the messages of a group: all that it does not refuse, or none. */
export type WriteGroup = (rows: Row[]) => Promise<GroupWritten>;

interface WriteDeps {
  pool: pg.Pool;
  limits: LimitSettings;
  tracking: TrackingDefaults;
}

const KEYS = [[], [idempotencyKeys]];
const EMAILS_OF_ONE = [[PRICED_EMAILS], [idempotencyKeys, PRICED_NEW_EMAILS]];

export const groupStatement = defineWriting({
  from: import.meta.url,
  sentBy: 'writeRows',
  does: 'Writes a group of messages of POST /messages.',
  shapes: [
    ...[UNPRICED, PRICED, RESERVED]
      .flatMap((money) => KEYS.map((keys): Addition[] => [...keys, money]))
      .concat(EMAILS_OF_ONE)
      .flatMap((additions) => [true, false].map((limited) => ({ additions, limited, tracked: true }))),
    // Messages of test keys have groups of their own. They cost nothing, and no limit counts them.
    ...KEYS.map((keys) => ({ additions: [...keys, testEvents, UNPRICED], limited: false, tracked: true })),
  ],
});

function writeRows(
  client: Queryable,
  rows: readonly Row[],
  { limits, tracking }: WriteDeps,
  additions: readonly Addition[],
  reservedOf: (row: Row) => Reserved | null = () => null,
): Promise<Map<number, WrittenMessage>> {
  const messages = rows.map((row) => ({
    ...row.draft,
    ...(row.draft.test ? testOutcome(row.draft) : {}),
    ...reservedOf(row),
    id: row.id,
    idempotency_key: row.idempotencyKey,
    fingerprint: row.fingerprint?.toString('base64'),
  }));
  const needed = [
    ...(rows.some((row) => row.idempotencyKey !== null) ? [idempotencyKeys] : []),
    ...(rows.some((row) => row.draft.test) ? [testEvents] : []),
    ...additions,
  ];
  const source = { class: messageClasses.transactional };
  return writeMessages(client, messages, {
    statement: groupStatement,
    source,
    limits,
    counted: rows.some(({ draft }) => isCounted(draft)),
    tracking,
    additions: needed,
  });
}

/** Writes messages in one statement, which fails if one of them costs something: see `isUnreserved`. */
export function createUnpaidWriter(deps: WriteDeps): WriteGroup {
  return async (rows) => ({
    written: await writeRows(deps.pool, rows, deps, [UNPRICED]),
    refused: new Map(),
  });
}

/** For one second, a refusal is repeated without asking the database. */
const KNOWN = { max: 10_000, ttl: 1_000 };

/** Refusals of the last second: messages that their accounts could not pay. */
export class KnownRefusals {
  readonly #byName = new LRUCache<string, AppError>(KNOWN);

  static #nameOf({ account_id, channel, to_key, segments }: MessageDraft): string {
    // Numbers with the same beginning are in the same country, and cost the same.
    return isPaidByMessage(channel)
      ? `${account_id}`
      : `${account_id}/${to_key.slice(0, 8)}/${segments ?? 1}`;
  }

  find(draft: MessageDraft): AppError | null {
    return (draft.test ? null : this.#byName.get(KnownRefusals.#nameOf(draft))) ?? null;
  }

  /** Forgets the refusals of accounts that can pay more now. @param accountIds null: of all accounts */
  forget(accountIds: readonly number[] | null): void {
    if (accountIds === null) return this.#byName.clear();
    const raised = new Set(accountIds.map(String));
    for (const name of [...this.#byName.keys()]) {
      if (raised.has(name.split('/', 1)[0] ?? '')) this.#byName.delete(name);
    }
  }

  add(draft: MessageDraft, error: AppError): void {
    if (error.code !== 'validation_error') this.#byName.set(KnownRefusals.#nameOf(draft), error);
  }
}

interface PaidDeps extends WriteDeps {
  payers: Payers;
  known: KnownRefusals;
}

/**
 * Reserves what messages cost.
 * @returns the messages that their accounts can pay, with their reservations, and the refused ones
 */
async function reserve(trx: Queryable, rows: readonly Row[], { limits, payers, known }: PaidDeps) {
  const asking = rows.map((row) => ({ ...row.draft, id: row.id, row }));
  const decisions = fitInto(asking, await readMessageFunds(trx, asking, limits));
  const reserved = new Map<Row, Reserved | null>();
  const refused = new Map<Row, AppError>();
  for (const [{ row }, decision] of decisions) {
    if (decision instanceof AppError) {
      refused.set(row, decision);
      known.add(row.draft, decision);
    } else {
      reserved.set(row, decision);
      // An SMS may cost nothing because its country's price is 0. Its account still pays for others.
      if (decision === null && isPaidByMessage(row.draft.channel)) payers.forget(row.draft);
    }
  }
  return { reserved, refused };
}

/**
 * Writes messages that cost something, each with its reservation, and leaves out those that their accounts cannot pay.
 * It locks the accounts' months first, so that what they have left does not change until the commit. Then it looks up
 * the keys, because a message that repeats another costs nothing.
 */
async function writeWhatFits(rows: Row[], deps: PaidDeps): Promise<GroupWritten> {
  return inTransaction(deps.pool, async (trx) => {
    await lockMonths(
      trx,
      rows.map(({ draft }) => draft.account_id),
    );
    const kept = await findKept(trx, rows);
    const { reserved, refused } = await reserve(
      trx,
      rows.filter((row) => !kept.has(row)),
      deps,
    );
    if (reserved.size === 0) return { written: new Map(), refused };
    const fitting = [...reserved.keys()];
    const written = await writeRows(trx, fitting, deps, [RESERVED], (row) => reserved.get(row) ?? null);
    return { written, refused };
  });
}

/** The ways to write messages that cost something, the fastest first. The next one gets what one refuses. */
const WAYS = { emailsOfOne: 0, anyMessages: 1, whatFits: 2 };

function firstWayOf(rows: readonly Row[]): number {
  const areAlike = rows.every(
    ({ draft }) => isPaidByMessage(draft.channel) && draft.account_id === rows[0]?.draft.account_id,
  );
  return areAlike ? WAYS.emailsOfOne : WAYS.anyMessages;
}

function pricedFor(rows: readonly Row[], way: number): Addition {
  if (way === WAYS.anyMessages) return PRICED;
  return rows.some(({ idempotencyKey }) => idempotencyKey !== null) ? PRICED_NEW_EMAILS : PRICED_EMAILS;
}

/**
 * Writes messages that cost something, each with its reservation. One statement writes them all if their accounts can
 * pay for all of them. Otherwise, and for an account's first message of a month, a transaction writes those that fit.
 */
export function createPaidWriter(deps: PaidDeps): WriteGroup {
  /** The first way to try for an account: the one after the way that refused its messages within the last second. */
  const ways = new LRUCache<number, number>(KNOWN);
  return async (rows) => {
    let way = Math.max(firstWayOf(rows), ...rows.map(({ draft }) => ways.get(draft.account_id) ?? 0));
    for (; way < WAYS.whatFits; way += 1) {
      try {
        return {
          written: await writeRows(deps.pool, rows, deps, [pricedFor(rows, way)]),
          refused: new Map(),
        };
      } catch (error) {
        const accountId = accountBeyondPurse(error);
        if (accountId === null) throw error;
        ways.set(accountId, way + 1);
      }
    }
    return writeWhatFits(rows, deps);
  };
}
