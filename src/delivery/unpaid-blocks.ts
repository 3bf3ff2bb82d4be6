/** Blocks of campaigns that wait because their account has no money for them. */
import type { FailureCode } from './message.ts';
import type { Queryable } from '../platform/db/queryable.ts';
import { spendCap } from './limits/spend-cap.ts';
import { wallet } from './limits/wallet.ts';

const byName = new Map([spendCap, wallet].map(({ name, refusal }) => [name as string, refusal.code]));
const names = [...byName.keys()].map((name) => `'${name}'`).join(', ');

const UNPAID = `campaign_id = $1 and hold_reason in (${names}) and owner is null and closed_at is null`;

/** @returns why blocks of a campaign wait for money; null: none does */
export async function whyUnpaid(
  db: Queryable,
  campaignId: number,
): Promise<Extract<FailureCode, 'spend_cap_reached' | 'insufficient_funds'> | null> {
  const { rows } = await db.query<{ hold_reason: string }>({
    name: 'why_unpaid',
    text: `select hold_reason from campaign_blocks where ${UNPAID} and due_at > now() limit 1`,
    values: [campaignId],
  });
  return byName.get(rows[0]?.hold_reason ?? '') ?? null;
}

/** Lets senders look at the blocks of a campaign that wait for money. @param trx holds the campaign's lock */
export async function releaseUnpaid(trx: Queryable, campaignId: number): Promise<void> {
  await trx.query({
    name: 'release_unpaid_blocks',
    text: `
    with held as materialized (
      select n from campaign_blocks where ${UNPAID} order by n for update
    )
    update campaign_blocks set hold_reason = null, due_at = now()
    where campaign_id = $1 and n = any(array(select n from held))`,
    values: [campaignId],
  });
}
