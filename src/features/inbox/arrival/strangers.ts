/**
 * Keeps strangers from filling the storage of an account. Mail that would store too much goes to quarantine, from which it
 * is evicted when room is needed. Other mail is never evicted, so that it must be bounded here.
 */
import { LRUCache } from 'lru-cache';
import { parseMessageReference } from '../../../delivery/addresses/reference.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { Keyring } from '../../../platform/secrets/keyring.ts';
import { QUARANTINED_BYTES, UNPROVED_BYTES } from '../retention/shares.ts';
import { MAX_REFERENCES } from './answered-messages.ts';
import type { MailToWrite } from './take-mails.ts';

/** The part of the quota that mail without proof of its sender may fill. */
export const UNPROVED_PART = 1 / 5;
/**
 * The part of the quota that such mail may fill if its sender seems to be one whom the brand has answered: anyone can
 * write that address into the From field.
 */
export const UNPROVED_ANSWERED_PART = 2 / 5;
/** Above this part of the quota, only those whom the brand has answered get further, whether or not there is proof. */
export const RESERVED_FROM_PART = 9 / 10;

/** Bytes that an account stores outside of quarantine. */
interface Shares {
  kept: number;
  /** Of mail without proof of its sender. */
  unproved: number;
}

/** How long a process remembers the shares of an account. It adds what it writes itself. */
const REMEMBERED_MS = 5_000;
const MAX_ACCOUNTS = 1_000;

export interface StrangerDeps {
  keyring: Pick<Keyring, 'accepted'>;
  /** Maximum bytes of the mail of one account. */
  quotaBytes: number;
}

/**
 * What is waiting to be read or removed counts for the quota, but is neither kept nor in quarantine. `$1`: accounts. The
 * transaction has taken the mails of its group out of the queue, so that they are kept or not as it decides.
 */
const sharesSql = `
  select s.account_id, s.bytes - ${QUARANTINED_BYTES}
      - (select coalesce(sum(w.size), 0) from (
           select max(size) as size from inbound_mails w where w.account_id = s.account_id and not exists (
             select from conversation_messages m where m.raw_key = w.raw_key) group by raw_key) w)
      - (select coalesce(sum(f.size), 0) from inbox_removed_files f where f.account_id = s.account_id) as kept,
    ${UNPROVED_BYTES} as unproved
  from inbox_storage s where s.account_id = any($1)`;

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

/** Decides which mails strangers may store. One for each process, since it remembers what accounts store. */
export class StrangerLimits {
  readonly #deps: StrangerDeps;
  readonly #known = new LRUCache<number, Shares>({ max: MAX_ACCOUNTS, ttl: REMEMBERED_MS });

  constructor(deps: StrangerDeps) {
    this.#deps = deps;
  }

  /**
   * Decides about a group of mails that would arrive.
   * @param trx has taken the mails out of the queue
   * @param mails in the order in which they were accepted
   * @param group all mails that the transaction has taken out of the queue
   * @returns why a mail goes to quarantine, by the ids of the mails
   */
  async judge(
    trx: Queryable,
    mails: readonly MailInGroup[],
    group: readonly MailToWrite[],
  ): Promise<Map<number, string>> {
    const reasons = new Map<number, string>();
    const near = await this.#findNear(trx, mails, group);
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
  async #findNear(
    trx: Queryable,
    mails: readonly MailToWrite[],
    group: readonly MailToWrite[],
  ): Promise<Map<number, Shares>> {
    const near = new Map<number, Shares>();
    const accounts = [...new Set(mails.map(({ claimed }) => claimed.account_id))];
    if (accounts.length === 0) return near;
    const { rows: used } = await trx.query<{ account_id: number }>({
      name: 'find_large_inbox_storages',
      text: 'select account_id from inbox_storage where account_id = any($1) and bytes >= $2',
      values: [accounts, Math.floor(UNPROVED_PART * this.#deps.quotaBytes)],
    });
    for (const { account_id: id } of used) {
      const known = this.#known.get(id);
      if (known) near.set(id, known);
    }
    const unknown = used.map(({ account_id: id }) => id).filter((id) => !near.has(id));
    if (unknown.length === 0) return near;
    const { rows } = await trx.query<{ account_id: number; kept: string; unproved: string }>({
      name: 'sum_inbox_shares',
      text: sharesSql,
      values: [unknown],
    });
    for (const row of rows) {
      const ofAccount = group.filter(({ claimed }) => claimed.account_id === row.account_id);
      const taken = ofAccount.reduce((sum, { claimed }) => sum + claimed.size, 0);
      const shares = { kept: Number(row.kept) - taken, unproved: Number(row.unproved) };
      this.#known.set(row.account_id, shares);
      near.set(row.account_id, shares);
    }
    return near;
  }
}
