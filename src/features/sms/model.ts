import type { Queryable } from '../../platform/db/queryable.ts';

/** A row of `sms_senders` with the name of its provider. */
export interface SmsSenderRow {
  id: number;
  account_id: number;
  brand_id: number;
  /** Null: the provider of SMS_PROVIDER_URL. */
  provider: string | null;
  sender: string;
  takes_replies: boolean;
  keywords: string | null;
  help_text: string | null;
  created_at: Date;
}

export interface NewSmsSender {
  brandId: number;
  providerId: number | null;
  sender: string;
  takesReplies: boolean;
  keywords: string | null;
  helpText: string | null;
}

const COLUMNS = `s.id, s.account_id, s.brand_id, p.name as provider, s.sender, s.takes_replies, s.keywords, s.help_text,
  s.created_at`;

/** @returns null if there is no such brand */
export async function insertSender(db: Queryable, sender: NewSmsSender): Promise<SmsSenderRow | null> {
  const { rows } = await db.query<SmsSenderRow>(
    `with s as (
       insert into sms_senders (account_id, brand_id, provider_id, sender, takes_replies, keywords, help_text)
       select account_id, id, $2, $3, $4, $5, $6 from brands where id = $1
       returning *
     )
     select ${COLUMNS} from s left join providers p on p.id = s.provider_id`,
    [sender.brandId, sender.providerId, sender.sender, sender.takesReplies, sender.keywords, sender.helpText],
  );
  return rows[0] ?? null;
}

/** @param brandId null: of all brands */
export async function findSenders(db: Queryable, brandId: number | null): Promise<SmsSenderRow[]> {
  const { rows } = await db.query<SmsSenderRow>(
    `select ${COLUMNS} from sms_senders s left join providers p on p.id = s.provider_id
     where s.removed_at is null and ($1::bigint is null or s.brand_id = $1) order by s.brand_id`,
    [brandId],
  );
  return rows;
}

export async function removeSenderOfBrand(db: Queryable, brandId: number): Promise<SmsSenderRow | null> {
  const { rows } = await db.query<SmsSenderRow>(
    `with s as (
       update sms_senders set removed_at = now() where brand_id = $1 and removed_at is null returning *
     )
     select ${COLUMNS} from s left join providers p on p.id = s.provider_id`,
    [brandId],
  );
  return rows[0] ?? null;
}

/** @returns null if there is no such provider, or it is reserved for other accounts than the brand's */
export async function findSmsProviderId(
  db: Queryable,
  name: string,
  brandId: number,
): Promise<number | null> {
  const { rows } = await db.query<{ id: number }>(
    `select id from providers where name = $1 and channel = 'sms' and removed_at is null
       and (account_ids is null or (select account_id from brands where id = $2) = any(account_ids))`,
    [name, brandId],
  );
  return rows[0]?.id ?? null;
}

/** The sender to which an inbound SMS was sent. */
export interface AddressedSender {
  account_id: number;
  brand_id: number;
  sender: string;
  keywords: string | null;
  help_text: string | null;
}

/**
 * Finds the sender to which a recipient replied: that of the brand that has the number, or else of the last one that
 * had it.
 * @param senders the number, and the pool that contains it
 */
export async function findAddressedSender(
  db: Queryable,
  providerId: number | null,
  senders: readonly string[],
): Promise<AddressedSender | null> {
  const { rows } = await db.query<AddressedSender>(
    `select account_id, brand_id, sender, keywords, help_text from sms_senders
     where sender = any ($2) and provider_id is not distinct from $1 and takes_replies
     order by removed_at desc nulls first, id desc limit 1`,
    [providerId, senders],
  );
  return rows[0] ?? null;
}

/** @returns false if the keyword is already recorded */
export async function insertKeyword(
  db: Queryable,
  given: { providerId: number | null; providerMessageId: string; brandId: number; keyword: string },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into sms_keywords (provider_id, provider_message_id, brand_id, keyword) values ($1, $2, $3, $4)
     on conflict (provider_id, provider_message_id) do nothing`,
    [given.providerId ?? 0, given.providerMessageId, given.brandId, given.keyword],
  );
  return rowCount === 1;
}

/** Records an answer to HELP from a number. @returns false if the last answer was less than a minute ago */
export async function claimHelpAnswer(db: Queryable, brandId: number, addressHash: Buffer): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into sms_help_answers as known (brand_id, address_hash) values ($1, $2)
     on conflict (brand_id, address_hash) do update set answered_at = now()
       where known.answered_at <= now() - interval '1 minute'`,
    [brandId, addressHash],
  );
  return rowCount === 1;
}
