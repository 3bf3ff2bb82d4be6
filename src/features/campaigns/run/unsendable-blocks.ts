/** Blocks that only a change by the account, such as a payment, can release: their campaigns are paused. */
import { MESSAGE_LIFETIME, type FailureCode } from '../../../delivery/terms/message.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { ErrorCode } from '../../../errors.ts';
import { sandboxCap } from '../../../delivery/ledger/limits/sandbox-cap.ts';
import { spendCap } from '../../../delivery/ledger/limits/spend-cap.ts';
import { wallet } from '../../../delivery/ledger/limits/wallet.ts';

/** Why a campaign cannot be sent: no money, no sends left in the sandbox, or no verified domain. */
export type UnsendableReason =
  | Extract<FailureCode, 'spend_cap_reached' | 'insufficient_funds'>
  | Extract<ErrorCode, 'sandbox_limit_reached' | 'sender_not_verified'>;

const byName = new Map<string, UnsendableReason>([
  [spendCap.name, spendCap.refusal.code],
  [wallet.name, wallet.refusal.code],
  [sandboxCap.name, sandboxCap.accept.code],
]);
const names = [...byName.keys()].map((name) => `'${name}'`).join(', ');

const UNPAID = `campaign_id = $1 and hold_reason in (${names}) and owner is null and closed_at is null`;

/** SQL: the domain of a campaign with open blocks was deleted, or lost its verification 72 hours before $2. */
const SENDER_LOST = `exists (
      select 1 from campaigns c
      where c.id = $1 and c.domain_id is not null
        and not exists (
          select 1 from domains d
          where d.id = c.domain_id
            and (d.status = 'verified' or coalesce(d.lost_at, $2::timestamptz) > $2::timestamptz - ${MESSAGE_LIFETIME}))
        and exists (select 1 from campaign_blocks b where b.campaign_id = c.id and b.closed_at is null))`;

/** @returns why blocks of a campaign cannot be sent, so that it must be paused; null if they can be sent in time */
export async function whyUnsendable(
  db: Queryable,
  campaignId: number,
  asOf: Date,
): Promise<UnsendableReason | null> {
  const { rows } = await db.query<{ hold_reason: string | null; sender_lost: boolean }>({
    name: 'why_unsendable',
    text: `
    select (select hold_reason from campaign_blocks where ${UNPAID} and due_at > now() limit 1) as hold_reason,
      ${SENDER_LOST} as sender_lost`,
    values: [campaignId, asOf],
  });
  const [row] = rows;
  if (row?.sender_lost) return 'sender_not_verified';
  return byName.get(row?.hold_reason ?? '') ?? null;
}

/** Makes blocks that wait for money or the sandbox due again. @param trx holds the campaign's lock */
export async function releaseUnsendable(trx: Queryable, campaignId: number): Promise<void> {
  await trx.query({
    name: 'release_unsendable_blocks',
    text: `
    with held as materialized (
      select n from campaign_blocks where ${UNPAID} order by n for update
    )
    update campaign_blocks set hold_reason = null, due_at = now()
    where campaign_id = $1 and n = any(array(select n from held))`,
    values: [campaignId],
  });
}
