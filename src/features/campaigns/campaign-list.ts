import type { Channel } from '../../delivery/terms/message.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import { type SizedItem, type Page, type RowCount, countRows } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { CAMPAIGN_COLUMNS, type CampaignRow, type CampaignStatus } from './model.ts';

export interface CampaignFilters {
  status?: CampaignStatus | undefined;
  channel?: Channel | undefined;
  name?: string | undefined;
  created_after?: string | undefined;
  created_before?: string | undefined;
}

/** A campaign of a list before it is read. `bytes` is the approximate size of its own fields, without its contents. */
export type UnreadCampaign = SizedItem &
  Pick<CampaignRow, 'account_id' | 'brand_id' | 'options' | 'template_id' | 'variant_template_ids'>;

/** Finds the campaigns of a page, newest first, with the columns that decide about their sizes. */
export async function findCampaigns(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  filters: CampaignFilters,
  page: Page,
): Promise<{ rows: UnreadCampaign[]; count: RowCount }> {
  const values: unknown[] = [accountId, brandId];
  const given = [
    ['status =', filters.status],
    ['channel =', filters.channel],
    ['name =', filters.name],
    ['created_at >', filters.created_after],
    ['created_at <', filters.created_before],
  ] as const;
  const conditions = given.flatMap(([test, value]) =>
    value === undefined ? [] : [`and c.${test} $${values.push(value)}`],
  );
  const source = `campaigns c where c.account_id = $1 and c.brand_id = $2 and c.removed_at is null ${conditions.join(' ')}`;
  const below = page.after === null ? '' : `and c.id < ${page.after}`;
  const [{ rows }, count] = await Promise.all([
    db.query<UnreadCampaign>(
      `select c.id, c.account_id, c.brand_id, c.options, c.template_id, c.variant_template_ids,
         octet_length(c.data::text) + octet_length(c.options::text) + octet_length(c.trigger_data::text) + 2000 as bytes
       from ${source} ${below}
       order by c.id desc limit ${page.limit} offset ${page.offset}`,
      values,
    ),
    countRows(db, source, values),
  ]);
  return { rows, count };
}

/** Reads the campaigns of a page, newest first, including those deleted in the meantime. */
export async function readCampaigns(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  ids: readonly number[],
): Promise<CampaignRow[]> {
  const { rows } = await db.query<CampaignRow>(
    `select ${CAMPAIGN_COLUMNS} from campaigns c
     where c.account_id = $1 and c.brand_id = $2 and c.id = any($3) order by c.id desc`,
    [accountId, brandId, ids],
  );
  return rows;
}
