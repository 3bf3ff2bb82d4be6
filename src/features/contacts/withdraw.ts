import { recordImportedOptOuts } from '../../delivery/ledger/consent/opt-outs.ts';
import { withoutTag } from '../../delivery/terms/channels/recipient.ts';
import { type Channel, channelFacts, channels } from '../../delivery/terms/channels/index.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { BulkOptions } from './bulk-work.ts';
import { lockConsent, type ConsentDeps } from './consent.ts';

/** An address whose subscription ends, if it has one. */
export interface Withdrawal {
  channel: Channel;
  /** The form in which addresses are compared. */
  key: string;
  /** When the recipient opted out; null: not known, so now. */
  at: Date | null;
  /** Whether the recipient said no. If not, only a subscription ends that an earlier import gave without being asked. */
  isNo: boolean;
}

/** Keeps one withdrawal of each address: a no, and the first of several. */
function ofEachAddress(withdrawals: readonly Withdrawal[]): Withdrawal[] {
  const byKey = new Map<string, Withdrawal>();
  for (const each of withdrawals) {
    const known = byKey.get(each.key);
    if (!known || (each.isNo && !known.isNo)) byKey.set(each.key, each);
  }
  return [...byKey.values()];
}

/**
 * SQL: unsubscribes the contacts of the brand `$2` that have the addresses in `$1`, and adds the changes to their
 * history. `$3`: the import; `$4`: the channel; `$5`: the source.
 * @param hasTags whether addresses that differ by their tag are one recipient
 */
function withdrawSql(channel: Channel, hasTags: boolean): string {
  const { kind: prefix, key } = channelFacts[channel].contact;
  const tagged = hasTags
    ? `union all
      select c.id, g.at, g.is_no from given g join contacts c on c.brand_id = $2
        and c.email_key like '%+%' and address_without_tag(c.email_key) = g.base
      union all
      select c.id, g.at, g.is_no from given g join contacts c on c.brand_id = $2 and c.${key} = g.base`
    : '';
  return `
    with given as materialized (
      select * from json_to_recordset($1) as r (key text, base text, at timestamptz, is_no boolean)
    ), matched as materialized (
      select distinct on (m.id) m.id, m.at, m.is_no from (
        select c.id, g.at, g.is_no from given g join contacts c on c.brand_id = $2 and c.${key} = g.key ${tagged}
      ) m order by m.id, m.is_no desc
    ), found as materialized (
      select c.id, m.at, m.is_no, c.${prefix}_opt_in_at as opt_in_at, c.${prefix}_opt_in_source as opt_in_source
      from contacts c join matched m on m.id = c.id
      where c.${prefix}_subscribed
        and (m.is_no or (c.${prefix}_opt_in_source = $5 and c.import_id is distinct from $3))
      order by c.id for no key update of c
    ), changed as (
      update contacts c set ${prefix}_subscribed = false, ${prefix}_updated_at = now(), updated_at = now(),
        ${prefix}_opt_out_at = case when f.is_no then coalesce(f.at, now()) end,
        ${prefix}_opt_in_at = case when f.is_no then c.${prefix}_opt_in_at end,
        ${prefix}_opt_in_source = case when f.is_no then c.${prefix}_opt_in_source end
      from found f where c.id = f.id
    ), opted_in as (
      insert into contact_subscriptions (contact_id, channel, subscribed, source, created_at)
      select f.id, $4, true, f.opt_in_source, f.opt_in_at from found f
      where f.opt_in_at is not null and not exists (
        select 1 from contact_subscriptions s where s.contact_id = f.id and s.channel = $4)
    ), noted as (
      -- The history is in the order in which the changes took effect here.
      insert into contact_subscriptions (contact_id, channel, subscribed, source, import_id, created_at)
      select f.id, $4, false, $5, $3, case when f.at > coalesce(f.opt_in_at, '-infinity') and not exists (
          select 1 from contact_subscriptions s where s.contact_id = f.id and s.channel = $4 and s.created_at >= f.at)
        then f.at else now() end
      from found f
    )
    select id from found`;
}

/**
 * Ends subscriptions of many addresses, for an import. An address whose recipient said no is added to the brand's
 * opt-outs even if no contact has it. After the commit, wait for the recipient fence.
 * @param trx the caller's transaction, in which no contact is locked yet; it has the consent lock afterwards if there
 *   is anything to end
 * @returns the contacts that were subscribed
 */
export async function withdrawSubscriptions(
  trx: Queryable,
  { keyring, plusAddresses }: ConsentDeps,
  { accountId, brandId }: BrandScope,
  withdrawals: readonly Withdrawal[],
  { source, importId, updateExisting }: Pick<BulkOptions, 'source' | 'importId' | 'updateExisting'>,
): Promise<ReadonlySet<number>> {
  const ended = new Set<number>();
  if (withdrawals.length === 0) return ended;
  await lockConsent(trx, brandId, 'alone');
  for (const channel of channels) {
    const given = ofEachAddress(withdrawals.filter((each) => each.channel === channel)).filter(
      ({ isNo }) => isNo || updateExisting,
    );
    if (given.length === 0) continue;
    const hasTags = plusAddresses && channelFacts[channel].address.hasTags;
    const rows = given.map(({ key, at, isNo }) => ({
      key,
      base: hasTags && isNo ? withoutTag(key) : null,
      at,
      is_no: isNo,
    }));
    const { rows: found } = await trx.query<{ id: number }>(withdrawSql(channel, hasTags), [
      ...[JSON.stringify(rows), brandId, importId, channel, source],
    ]);
    for (const { id } of found) ended.add(id);
    const optOuts = given.filter(({ isNo }) => isNo).map(({ key: address, at }) => ({ address, at }));
    await recordImportedOptOuts(
      trx,
      keyring,
      { accountId, brandId, channel, plusAddresses, importId },
      optOuts,
    );
  }
  return ended;
}
