import type { BrandScope } from '../../platform/db/model.ts';
import { type Page, type SizedItem, type RowCount, countRows } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { listedBytesSql } from './model.ts';
import type { ListTemplatesQuery } from './schema.ts';

function filtersSql(query: ListTemplatesQuery, values: unknown[]): string {
  const equal = (column: string, value: unknown) => {
    if (value === undefined) return [];
    values.push(value);
    return [`${column} = $${values.length}`];
  };
  const owned = query.owner === 'all' || query.campaign_id !== undefined || query.flow_id !== undefined;
  const conditions = [
    ...(owned ? [] : ['t.campaign_id is null and t.flow_id is null']),
    ...equal('t.name', query.name),
    ...equal('t.channel', query.channel),
    ...equal('t.campaign_id', query.campaign_id),
    ...equal('t.flow_id', query.flow_id),
  ];
  for (const [operator, time] of [
    ['>', query.created_after],
    ['<', query.created_before],
  ] as const) {
    if (time === undefined) continue;
    values.push(time);
    conditions.push(`t.created_at ${operator} $${values.length}`);
  }
  return conditions.map((condition) => ` and ${condition}`).join('');
}

/** Finds the ids and sizes of the templates of a page, newest first. */
export async function findTemplates(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  query: ListTemplatesQuery,
  page: Page,
): Promise<{ items: SizedItem[]; count: RowCount }> {
  const values: unknown[] = [accountId, brandId];
  const source = `templates t where t.account_id = $1 and t.brand_id = $2 and t.removed_at is null${filtersSql(query, values)}`;
  const below = page.after === null ? '' : `and t.id < ${page.after}`;
  const [{ rows: items }, count] = await Promise.all([
    db.query<SizedItem>(
      `select t.id, ${listedBytesSql(query.summary ? 0 : 1)} as bytes from ${source} ${below}
       order by t.id desc limit ${page.limit} offset ${page.offset}`,
      values,
    ),
    countRows(db, source, values),
  ]);
  return { items, count };
}
