/** The money that the messages of a campaign's block reserve when a sender claims the block. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineStatement } from '../../../platform/db/statements.ts';
import { MAX_SEGMENTS } from '../../terms/texts/sms-segments.ts';
import type { LimitSettings } from '../limits/authority.ts';
import { furtherCtes, settingIn } from '../../terms/sql-parts.ts';
import { figuresCtes } from '../limits/claim-decision.ts';
import { raiseMonthsSql } from '../limits/money.ts';
import { byUnitSql } from '../../terms/units.ts';

/**
 * By message id: the price of a text in millicents, and the most segments that the template may take. A price of null
 * means that the country has none: the text is skipped at the hand-over, even if a price has been set since.
 */
export type TextPrices = Record<number, readonly [number | null, number]>;

const textsSql = `
  with account as materialized (
    select * from accounts where id = $4
  )${furtherCtes(figuresCtes(settingIn('$5::jsonb')))}, version as materialized (
    select coalesce(min(v.segments), ${MAX_SEGMENTS}) as segments
    from campaigns c join campaign_blocks b on b.campaign_id = c.id and b.n = $3
    join template_versions v on v.id = c.version_ids[b.variant + 1] where c.id = $2
  ), priced as (
    select m.id, version.segments,
      version.segments * (wallet.sms_prices ->> phone_country(m.to_key))::bigint as millicents
    from messages m cross join version cross join wallet
    where m.id = any($1) and m.id between $6 and $7
  )
  select id, segments, millicents from (
    select *, coalesce(sum(millicents) over (order by id), 0) as total from priced) p cross join wallet cross join spend_cap
  where total <= greatest(0, least(wallet.remaining, spend_cap.remaining)) order by id`;

export const priceTextsStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'priceTexts',
  does: 'Finds which texts of a block the account can pay for.',
  parameters: [
    'bigint[]: the messages',
    'bigint: the campaign',
    'integer: the number of the block',
    'bigint: the account',
    'jsonb: the settings of the limits',
    'bigint: the first message',
    'bigint: the last message',
  ],
  shapes: { price_texts: {} },
  compose: () => textsSql,
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
    ...priceTextsStatement.prepared('price_texts'),
    values: [ids, campaignId, n, accountId, JSON.stringify(settings), ids[0], ids.at(-1)],
  });
  return Object.fromEntries(rows.map(({ id, segments, millicents }) => [id, [millicents, segments]]));
}

/** SQL: the value for the unit by which messages of the block `m` are priced. */
const byUnit = (message: string, segment: string): string => byUnitSql('m.channel', { message, segment });

/**
 * SQL: expressions of the claim of the block `mine`. `fresh` is what its messages reserve now, and `owed` the part of
 * an earlier reservation that moves to the rest of the block. `$5` is how many messages are claimed, `$8` the account,
 * `$11` the {@link TextPrices} or null, and `$12` the waiting messages behind those that are claimed.
 */
export const blockPriceCtes = furtherCtes([
  {
    name: 'listed',
    materialized: true,
    sql: `
    select coalesce(sum((e.value ->> 0)::bigint), 0)::bigint as millicents, coalesce(sum((e.value ->> 1)::int), 0)::int as units
    from jsonb_each($11::jsonb) e`,
  },
  {
    name: 'fresh',
    materialized: true,
    sql: `
    select current_month() as month, m.channel, p.units, p.free,
      ${byUnit('(p.units - p.free) * wallet.email_price', 'listed.millicents')} as millicents,
      wallet.email_price as unit_millicents
    from mine m cross join wallet cross join listed
    cross join lateral (
      select ${byUnit('$5::int', 'listed.units')} as units,
        ${byUnit('least($5::int, wallet.free)', '0')}::int as free) p
    where m.price_month is null and $5::int > 0
      and ${byUnit('wallet.email_price > 0', 'wallet.sms_prices is not null')}`,
  },
  {
    name: 'fresh_reserved',
    sql: raiseMonthsSql(`
        select $8::bigint, month, ${byUnitSql('channel', { message: 'units', segment: '0' })}, free,
          ${byUnitSql('channel', { message: '0', segment: 'units' })}, millicents from fresh`),
  },
  {
    name: 'owed',
    materialized: true,
    sql: `
    select m.price_month as month, p.units, p.free,
      ${byUnit('(p.units - p.free) * m.unit_millicents', 'p.millicents')} as millicents
    from mine m cross join lateral (
      select coalesce(sum((m.price_list -> t.id::text ->> 0)::bigint), 0)::bigint as millicents,
        coalesce(sum((m.price_list -> t.id::text ->> 1)::int), 0)::int as units
      from unnest($12::bigint[]) as t (id)) texts
    cross join lateral (
      select least(m.price_units, ${byUnit('cardinality($12::bigint[])', 'texts.units')}) as units, least(m.price_millicents, texts.millicents) as millicents) u
    cross join lateral (
      select u.units, u.millicents, greatest(0, m.free_units - (m.price_units - u.units)) as free) p
    where m.price_month is not null`,
  },
]);

/** SQL: assignments to the claimed block `b`, each with a comma before it. */
export const blockPricesSql = `, price_month = coalesce(b.price_month, (select month from fresh)),
    price_units = b.price_units + coalesce((select units from fresh), 0) - coalesce((select units from owed), 0),
    free_units = b.free_units + coalesce((select free from fresh), 0) - coalesce((select free from owed), 0),
    price_millicents = b.price_millicents + coalesce((select millicents from fresh), 0)
      - coalesce((select millicents from owed), 0),
    unit_millicents = coalesce((select unit_millicents from fresh), b.unit_millicents),
    price_list = coalesce($11::jsonb, b.price_list)`;

/** SQL: the columns of the reservation that moves to the rest of a block, and their values over `mine`. */
export const restPrices = {
  columns: 'price_month, price_units, free_units, price_millicents, unit_millicents, price_list',
  values: `(select month from owed), coalesce((select units from owed), 0), coalesce((select free from owed), 0),
      coalesce((select millicents from owed), 0), unit_millicents, price_list`,
};
