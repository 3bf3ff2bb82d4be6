/**
 * Keeps strangers from filling the storage of an account. Mail that would store too much goes to quarantine, from which it
 * is evicted when room is needed. Other mail is never evicted, so that it must be bounded here.
 */
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import { parseMessageReference } from '../../../delivery/terms/addresses/reference.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { Keyring } from '../../../platform/secrets/keyring.ts';
import { QUARANTINED_BYTES, UNPROVED_BYTES } from '../retention/shares.ts';
import { MAX_REFERENCES } from './answered-messages.ts';
import type { MailToWrite } from './take-mails.ts';

/** The part of the quota that mail without proof of its sender may fill. */
export const UNPROVED_PART = 1 / 5;
/**
 * The part of the quota that such mail may fill if the brand seems to have answered its sender before: anyone can
 * write that address into the From field.
 */
export const UNPROVED_ANSWERED_PART = 2 / 5;
/** Above this part of the quota, only mail from senders whom the brand has answered is accepted, proven or not. */
export const RESERVED_FROM_PART = 9 / 10;

/** Bytes that an account stores outside of quarantine. */
interface Shares {
  kept: number;
  /** Of mail without proof of its sender. */
  unproved: number;
}

/** How long a process remembers the shares of an account, at least. It adds what it writes itself. */
const REMEMBERED_MS = 5_000;
/** Shares are remembered this many times as long as it took to sum them, which is linear in the account's mail. */
const REMEMBERED_TIMES = 20;
const MAX_ACCOUNTS = 1_000;

export interface StrangerDeps {
  pool: Pick<pg.Pool, 'query'>;
  keyring: Pick<Keyring, 'accepted'>;
  /** Maximum bytes of the mail of one account. */
  quotaBytes: number;
}

/**
 * What is waiting to be read or removed counts for the quota, but is neither kept nor in quarantine. A raw mail that waits
 * for one inbox only, because another has it, is part of the latter. `$1`: the account.
 */
const sharesSql = `
  select s.bytes - ${QUARANTINED_BYTES}
      - (select coalesce(sum(w.size), 0) from (
           select max(size) as size from inbound_mails w where w.account_id = s.account_id and not exists (
             select from conversation_messages m where m.raw_key = w.raw_key) group by raw_key) w)
      - (select coalesce(sum(f.size), 0) from inbox_removed_files f where f.account_id = s.account_id) as kept,
    ${UNPROVED_BYTES} as unproved
  from inbox_storage s where s.account_id = $1`;

interface MailInGroup extends MailToWrite {
  /** Bytes that the mail and its attachments store. */
  bytes: number;
}

/** Mail is proved if SPF or DKIM passes for the sender's domain. */
const isProved = ({ read }: MailToWrite): boolean => read.senderKey !== null && read.authentication.aligned;

/** Whether only someone who has received a message of the account can have written the mail. */
function answersMessage({ claimed, read }: MailToWrite, keys: readonly Buffer[]): boolean {
  if (claimed.answers_message_id !== null) return true;
  return read.referenceIds
    .slice(0, MAX_REFERENCES)
    .some((id) => parseMessageReference(keys, id.replace(/@[^@]*$/, ''))?.accountId === claimed.account_id);
}

const nameOf = (brandId: number, key: string) => `${brandId} ${key}`;

/** Finds the senders whom their brands have answered in conversations. */
async function findAnswered(trx: Queryable, mails: readonly MailToWrite[]): Promise<Set<string>> {
  const senders = mails.flatMap(({ claimed, read }) =>
    read.senderKey === null ? [] : [{ brand: claimed.brand_id, key: read.senderKey }],
  );
  const { rows } = await trx.query<{ brand: number; key: string }>({
    name: 'find_answered_senders',
    text: `select s.brand, s.key from unnest($1::bigint[], $2::text[]) as s (brand, key)
      where exists (select from conversation_messages m
        where m.brand_id = s.brand and m.recipient = s.key and m.direction = 'outbound')`,
    values: [senders.map(({ brand }) => brand), senders.map(({ key }) => key)],
  });
  return new Set(rows.map(({ brand, key }) => nameOf(brand, key)));
}

/** Decides about mails, by what their accounts stored when it was created. */
export interface StrangerJudge {
  /**
   * Decides about a group of mails that would arrive.
   * @param mails in the order in which they were accepted
   * @returns why a mail goes to quarantine, by the ids of the mails
   */
  judge(trx: Queryable, mails: readonly MailInGroup[]): Promise<Map<number, string>>;
}

/** Decides which mails strangers may store. One for each process, since it remembers what accounts store. */
export class StrangerLimits {
  readonly #deps: StrangerDeps;
  readonly #known: LRUCache<number, Shares>;
  readonly #writing = new Set<Promise<unknown>>();

  constructor(deps: StrangerDeps) {
    this.#deps = deps;
    this.#known = new LRUCache<number, Shares>({
      max: MAX_ACCOUNTS,
      ttl: REMEMBERED_MS,
      fetchMethod: async (accountId, _stale, { options }) => {
        const startedAt = performance.now();
        const shares = await this.#sum(accountId);
        options.ttl = Math.max(REMEMBERED_MS, REMEMBERED_TIMES * (performance.now() - startedAt));
        return shares;
      },
    });
  }

  /**
   * Sums what accounts store, and then runs the transaction that writes mail to them: to sum takes long if an account has
   * much mail, and mail to its inboxes would wait.
   */
  async judging<T>(accountIds: Iterable<number>, write: (judge: StrangerJudge) => Promise<T>): Promise<T> {
    const near = await this.#findNear([...new Set(accountIds)]);
    const writing = write({ judge: (trx, mails) => this.#judge(trx, mails, near) });
    this.#writing.add(writing);
    return writing.finally(() => this.#writing.delete(writing));
  }

  async #judge(
    trx: Queryable,
    mails: readonly MailInGroup[],
    near: ReadonlyMap<number, Shares>,
  ): Promise<Map<number, string>> {
    const reasons = new Map<number, string>();
    const judged = mails.filter(({ claimed }) => near.has(claimed.account_id));
    if (judged.length === 0) return reasons;
    const answered = await findAnswered(trx, judged);
    const keys = this.#deps.keyring.accepted('reference').map(({ key }) => key);
    for (const mail of judged) {
      const { id, account_id: accountId, brand_id: brandId } = mail.claimed;
      const shares = near.get(accountId) as Shares;
      const isAnswered = mail.read.senderKey !== null && answered.has(nameOf(brandId, mail.read.senderKey));
      const reason = this.#reason(shares, mail, isAnswered, isAnswered || answersMessage(mail, keys));
      if (reason !== null) {
        reasons.set(id, reason);
        continue;
      }
      shares.kept += mail.bytes;
      if (!isProved(mail)) shares.unproved += mail.bytes;
    }
    return reasons;
  }

  #reason(
    { kept, unproved }: Shares,
    mail: MailInGroup,
    isAnswered: boolean,
    isKnown: boolean,
  ): string | null {
    const { quotaBytes } = this.#deps;
    const part = isKnown ? UNPROVED_ANSWERED_PART : UNPROVED_PART;
    if (!isProved(mail) && unproved >= part * quotaBytes)
      return 'mail without proof of its sender stores too much';
    if (!isAnswered && kept >= RESERVED_FROM_PART * quotaBytes)
      return 'mail stores almost as much as the account may store';
    return null;
  }

  /** What accounts store that may have reached a limit. */
  async #findNear(accounts: readonly number[]): Promise<Map<number, Shares>> {
    const near = new Map<number, Shares>();
    if (accounts.length === 0) return near;
    const { rows } = await this.#deps.pool.query<{ account_id: number }>({
      name: 'find_large_inbox_storages',
      text: 'select account_id from inbox_storage where account_id = any($1) and bytes >= $2',
      values: [accounts, Math.floor(UNPROVED_PART * this.#deps.quotaBytes)],
    });
    // A sum does not have what is not committed yet, and would be remembered without it.
    if (rows.some(({ account_id: id }) => !this.#known.has(id))) await Promise.allSettled(this.#writing);
    for (const { account_id: id } of rows) {
      const shares = await this.#known.fetch(id);
      if (shares) near.set(id, shares);
    }
    return near;
  }

  async #sum(accountId: number): Promise<Shares | undefined> {
    const { rows } = await this.#deps.pool.query<{ kept: string; unproved: string }>({
      name: 'sum_inbox_shares',
      text: sharesSql,
      values: [accountId],
    });
    const [row] = rows;
    return row && { kept: Number(row.kept), unproved: Number(row.unproved) };
  }
}
