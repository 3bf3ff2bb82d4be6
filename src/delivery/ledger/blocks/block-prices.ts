/** The money that the messages of a campaign's block reserve when a sender claims the block. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineSql } from '../../../platform/db/sql/define.ts';
import { MAX_SEGMENTS } from '../../terms/texts/sms-segments.ts';
import { limits, type LimitSettings } from '../limits/authority.ts';
import { furtherCtes, settingIn } from '../../terms/sql-parts.ts';
import { figuresCtes } from '../limits/claim-decision.ts';

/**
 * By message id: the price of a text in millicents, and the most segments that the template may take. A price of null
 * means that the country has none: the text is skipped at the hand-over, even if a price has been set since.
 */
export type TextPrices = Record<number, readonly [number | null, number]>;

export const priceTextsSql = defineSql(import.meta.url, './price_texts.sql', {
  table: limits,
  regions: {
    figures: (table) => furtherCtes(figuresCtes(settingIn('$5::jsonb'), table)),
    max_segments: () => `${MAX_SEGMENTS}`,
  },
});

/**
 * Finds which of a block's texts the account can pay for, in the order of their ids.
 * @param ids ascending, at least one
 * @returns their prices
 */
export async function priceTexts(
  trx: Queryable,
  { campaignId, n, accountId }: { campaignId: number; n: number; accountId: number },
  settings: LimitSettings,
  ids: readonly number[],
): Promise<TextPrices> {
  const { rows } = await trx.query<{ id: number; segments: number; millicents: number | null }>({
    ...priceTextsSql,
    values: [ids, campaignId, n, accountId, JSON.stringify(settings), ids[0], ids.at(-1)],
  });
  return Object.fromEntries(rows.map(({ id, segments, millicents }) => [id, [millicents, segments]]));
}
