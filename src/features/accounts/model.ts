import type { LimitSettings } from '../../delivery/limits/authority.ts';
import { type Capacity, readCapacity } from '../../delivery/limits/capacity.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** An account with its usage and its remaining capacity. Names are those of the columns. */
export interface AccountFigures {
  id: number;
  name: string | null;
  avatar: string | null;
  banner: string | null;
  comped: boolean;
  auto_topup: boolean;
  email_from_name: string | null;
  email_from_email: string | null;
  email_reply_to: string | null;
  test_email_recipients: string[];
  onboarding_state: Record<string, unknown>;
  capabilities: Record<string, unknown>;
  created_at: Date;
  updated_at: Date;
  email_sent: number;
  sms_sent: number;
  ai_used: number;
  /** The first message of any brand of the account, not counting test messages. */
  first_message_at: Date | null;
  /** The oldest contact of any brand of the account. */
  first_contact_at: Date | null;
  /** Whether any domain of the account is verified. */
  domain_verified: boolean;
  capacity: Capacity;
}

/** How many of a brand's oldest messages are searched for the first one that is not a test. */
const MAX_LOOKED_AT = 10_000;

const FIND = `
select a.id, a.name, a.avatar, a.banner, a.comped, a.auto_topup, a.email_from_name, a.email_from_email,
  a.email_reply_to, a.test_email_recipients, a.onboarding_state, a.capabilities, a.created_at, a.updated_at,
  coalesce(c.email_sent, 0) as email_sent, coalesce(c.sms_sent, 0) as sms_sent, coalesce(c.ai_used, 0) as ai_used,
  (select min(first.created_at) from brands br cross join lateral (
     select early.created_at from (
       select m.id, m.created_at, m.test from messages m where m.brand_id = br.id order by m.id limit ${MAX_LOOKED_AT}) early
     where not early.test order by early.id limit 1) first
   where br.account_id = a.id) as first_message_at,
  (select min(first.created_at) from brands br cross join lateral (
     select c.created_at from contacts c where c.brand_id = br.id order by c.id limit 1) first
   where br.account_id = a.id) as first_contact_at,
  exists (select 1 from domains d where d.account_id = a.id and d.status = 'verified') as domain_verified
from accounts a
left join account_counters c on c.account_id = a.id
where a.id = $1`;

/** @returns null if there is no such account */
export async function findAccountFigures(
  db: Queryable,
  accountId: number,
  settings: LimitSettings,
): Promise<AccountFigures | null> {
  const { rows } = await db.query<Omit<AccountFigures, 'capacity'>>(FIND, [accountId]);
  return rows[0] ? { ...rows[0], capacity: await readCapacity(db, accountId, settings) } : null;
}
