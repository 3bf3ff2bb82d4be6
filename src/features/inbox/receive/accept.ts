import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { ReferencedMessage } from '../../../delivery/terms/addresses/reference.ts';
import {
  AccountFull,
  type Inbox,
  type Inboxes,
  type InboxLookup,
  type InboxTarget,
  type MailForInboxes,
  MAX_MAIL_BYTES,
} from '../../../delivery/wire/inbound/inboxes.ts';
import { createCoalescer } from '../../../platform/db/coalescer.ts';
import { inTransaction, isConnectionError } from '../../../platform/db/queryable.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import { type BlobStore, newBlobKey } from '../../../platform/storage/blob-store.ts';
import { evict, hasEvictable } from '../retention/evict.ts';
import { insertMails, insertMailsAtOnce, type NewMail, reserveStorage, usedBytes } from './mails.ts';

export interface MailAcceptanceDeps {
  pool: pg.Pool;
  store: BlobStore;
  waker: Pick<Waker, 'wake'>;
  /** Finds the inbox of an address: see `resolveInboxAddress`. */
  resolve: (address: string) => Promise<InboxLookup>;
  /** Maximum size of the raw mail and the attachments of one account. */
  quotaBytes: number;
  log: Logger;
}

/** The channel that wakes the loop which reads accepted mails. */
export const INBOUND_CHANNEL = 'inbound';

const MAX_GROUP = 100;
const GROUPS_AT_ONCE = 2;
/** Maximum number of times that one mail is tried to be inserted while others take the room that was made for it. */
const MAX_TRIES = 10;
/** How long the process remembers whether an account has reached its quota, so that not each recipient costs a query. */
const FULL_CHECK_MS = 5_000;
const MAX_CHECKED = 10_000;
/** The part of the quota that is freed beyond what a mail needs, so that not each mail has to make room for itself. */
const SPARE_PART = 0.01;
/** Below this part of the quota, mail is stored without a look at the quota first: its insertion looks anyway. */
const NEAR_PART = 0.9;

/** A failure. If `mayBeCommitted`, the connection was lost during the commit. */
type Outcome = 'accepted' | 'full' | { error: unknown; mayBeCommitted: boolean };

/**
 * Inserts the mails of a group, each with the rows of all its inboxes.
 * @param reached called before the commit
 */
async function insertGroup(
  pool: pg.Pool,
  group: readonly NewMail[][],
  quotaBytes: number,
  reached: () => void,
): Promise<Outcome[]> {
  return inTransaction(pool, async (client) => {
    let accepted = group.map(() => true);
    if (!(await insertMailsAtOnce(client, group, quotaBytes))) {
      accepted = await reserveStorage(client, group, quotaBytes);
      const rows = group.filter((_mail, index) => accepted[index]).flat();
      if (rows.length > 0) await insertMails(client, rows);
    }
    reached();
    return accepted.map((fits) => (fits ? 'accepted' : 'full'));
  });
}

function createInsertion({ pool, quotaBytes }: MailAcceptanceDeps): (mails: NewMail[]) => Promise<Outcome> {
  async function insert(group: readonly NewMail[][]): Promise<Outcome[]> {
    let mayBeCommitted = false;
    try {
      return await insertGroup(pool, group, quotaBytes, () => (mayBeCommitted = true));
    } catch (error) {
      mayBeCommitted &&= isConnectionError(error);
      return group.map(() => ({ error, mayBeCommitted }));
    }
  }

  async function insertAll(group: NewMail[][]): Promise<Outcome[]> {
    const outcomes = await insert(group);
    const [first] = outcomes;
    const failed = typeof first === 'object' && !isConnectionError(first.error);
    if (!failed || group.length === 1) return outcomes;
    // One mail must not make the others fail, so each is inserted separately.
    const settled: Outcome[] = [];
    for (const mail of group) settled.push(...(await insert([mail])));
    return settled;
  }

  const coalescer = createCoalescer<NewMail[], Outcome>({
    maxGroupSize: MAX_GROUP,
    concurrency: GROUPS_AT_ONCE,
    run: insertAll,
  });
  return (rows) => coalescer.submit(rows);
}

/**
 * Stores the message once for each account. Adds each key before its file exists.
 * @param keys by account
 * @returns bytes of the message
 */
async function storeCopies(
  store: BlobStore,
  { content, targets }: MailForInboxes,
  keys: Map<number, string>,
): Promise<number> {
  let size = 0;
  for (const accountId of accountsOf(targets)) {
    const key = newBlobKey('inbox', accountId);
    const [first] = keys.values();
    keys.set(accountId, key);
    if (Buffer.isBuffer(content)) {
      await store.put(key, content);
      size = content.length;
    } else if (first === undefined) {
      ({ size } = await store.putStream(key, content, { maxBytes: MAX_MAIL_BYTES }));
    } else {
      const blob = await store.open(first);
      if (!blob) throw new Error('a message disappeared while it was copied');
      await store.putStream(key, blob.stream, { maxBytes: MAX_MAIL_BYTES });
    }
  }
  return size;
}

const accountsOf = (targets: readonly InboxTarget[]): number[] => [
  ...new Set(targets.map(({ inbox }) => inbox.accountId)),
];

function rowsOf(mail: MailForInboxes, keys: ReadonlyMap<number, string>, size: number): NewMail[] {
  const { source, envelopeFrom, ip, helo, targets } = mail;
  return targets.map(({ inbox, recipient, answersMessageId, isReport }) => ({
    accountId: inbox.accountId,
    brandId: inbox.brandId,
    inboxId: inbox.id,
    rawKey: keys.get(inbox.accountId) ?? '',
    size,
    source,
    envelopeFrom,
    recipient,
    ip,
    helo,
    answersMessageId,
    isReport,
  }));
}

/**
 * Has each account make room for a mail that exceeds its quota, by deleting mail in quarantine.
 * @param wanted bytes of the mails for which the process is making room, by account: one eviction is for all of them
 * @param size bytes
 * @throws AccountFull if an account stores too much other mail
 */
async function makeRoom(
  { pool, store, log, quotaBytes }: MailAcceptanceDeps,
  wanted: Map<number, number>,
  targets: readonly InboxTarget[],
  size: number,
): Promise<void> {
  const want = (accountId: number, bytes: number) => {
    const left = (wanted.get(accountId) ?? 0) + bytes;
    if (left > 0) wanted.set(accountId, left);
    else wanted.delete(accountId);
    return left;
  };
  for (const accountId of accountsOf(targets)) {
    const most = quotaBytes - size;
    if ((await usedBytes(pool, accountId)) <= most) continue;
    if (most < 0) throw new AccountFull();
    want(accountId, size);
    const spare = () => Math.max(Math.floor(quotaBytes * SPARE_PART), want(accountId, 0) - size);
    const hasRoom = await evict({ pool, store, log }, accountId, { most, spare }).finally(() =>
      want(accountId, -size),
    );
    if (!hasRoom) throw new AccountFull();
  }
}

/** What is known about the quotas of accounts, as it was at most {@link FULL_CHECK_MS} ago. */
interface Fullness {
  /** Whether an account has reached its quota and cannot make room. */
  isFull(accountId: number): Promise<boolean>;
  /** Whether one of these accounts may need to make room. */
  isNear(accountIds: readonly number[]): boolean;
}

function createFullness({ pool, quotaBytes }: MailAcceptanceDeps): Fullness {
  const known = new LRUCache<number, { isFull: boolean; isNear: boolean }>({
    max: MAX_CHECKED,
    ttl: FULL_CHECK_MS,
  });
  return {
    async isFull(accountId) {
      const seen = known.get(accountId);
      if (seen) return seen.isFull;
      const used = await usedBytes(pool, accountId);
      const isFull = used >= quotaBytes && !(await hasEvictable(pool, accountId));
      known.set(accountId, { isFull, isNear: used >= NEAR_PART * quotaBytes });
      return isFull;
    },
    isNear: (accountIds) => accountIds.some((id) => known.get(id)?.isNear ?? true),
  };
}

interface SenderRow {
  brand_id: number;
  from_address: string | null;
  reply_to: string | null;
}

async function inboxOfMessage(
  { pool, resolve }: MailAcceptanceDeps,
  { accountId, messageId }: ReferencedMessage,
): Promise<Inbox | null> {
  const { rows } = await pool.query<SenderRow>({
    name: 'sender_of_message',
    text: `select brand_id, from_address, reply_to from messages where id = $1 and account_id = $2 and channel = 'email'`,
    values: [messageId, accountId],
  });
  const [message] = rows;
  for (const address of [message?.reply_to, message?.from_address]) {
    if (!address) continue;
    const found = await resolve(address);
    if (found.kind === 'inbox' && found.brandId === message?.brand_id) return found;
  }
  return null;
}

/** Creates the acceptance of mail to inboxes. Mails that arrive together are inserted in one transaction. */
export function createMailAcceptance(deps: MailAcceptanceDeps): Inboxes {
  const { store, waker } = deps;
  const insert = createInsertion(deps);
  const fullness = createFullness(deps);
  const wanted = new Map<number, number>();
  return {
    async resolve(address) {
      const found = await deps.resolve(address);
      if (found.kind === 'refused' || !(await fullness.isFull(found.accountId))) return found;
      return { kind: 'refused', status: 452, text: '4.2.2 this mailbox is full' };
    },
    ofMessage: (message) => inboxOfMessage(deps, message),
    async accept(mail) {
      const keys = new Map<number, string>();
      let outcome: Outcome;
      try {
        // Of a message that still arrives, only the first byte is known.
        const known = Buffer.isBuffer(mail.content) ? mail.content.length : 1;
        if (fullness.isNear(accountsOf(mail.targets))) await makeRoom(deps, wanted, mail.targets, known);
        const size = await storeCopies(store, mail, keys);
        const rows = rowsOf(mail, keys, size);
        outcome = await insert(rows);
        // Mails that arrive at the same time may take the room first.
        for (let tries = 1; outcome === 'full' && tries < MAX_TRIES; tries += 1) {
          await makeRoom(deps, wanted, mail.targets, size);
          outcome = await insert(rows);
        }
      } catch (error) {
        outcome = { error, mayBeCommitted: false };
      }
      if (outcome === 'accepted') return waker.wake(INBOUND_CHANNEL);
      // If this fails, or it is unknown whether there is a row, housekeeping removes files without one.
      if (outcome === 'full' || !outcome.mayBeCommitted)
        await Promise.allSettled([...keys.values()].map((key) => store.remove(key)));
      throw outcome === 'full' ? new AccountFull() : outcome.error;
    },
  };
}
