/** Which campaigns and flows need a list or a segment, so that it cannot be deleted. */
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** What is named. */
export type NamedKind = 'list' | 'segment';

const triggerColumn = { list: 'contact_list_id', segment: 'segment_id' } as const;

async function namesOf(db: Queryable, sql: string, values: unknown[]): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(sql, values);
  return rows.map((row) => row.name);
}

/** Filters, at any depth, that name the thing; and steps that add to a list or remove from it. */
const path = {
  list: '$.** ? (@.name == "list" && @.value == $ids[*] || (@.type == "add_to_list" || @.type == "remove_from_list") && @.list_id == $ids[*])',
  segment: '$.** ? (@.name == "segment" && @.value == $ids[*])',
} as const;

/**
 * The names of campaigns that need one of these lists or segments: they wait for their time or are writing recipients, and are for
 * one, or exclude one, or filters of their pinned audience name one, at any depth. At most ten.
 */
export function campaignsNaming(
  db: Queryable,
  { brandId }: Pick<BrandScope, 'brandId'>,
  kind: NamedKind,
  ids: readonly number[],
): Promise<string[]> {
  return namesOf(
    db,
    `select c.name from campaigns c
     where c.brand_id = $1 and c.phase in ('waiting', 'snapshot') and c.status in ('active', 'paused')
       and c.removed_at is null
       and (c.${triggerColumn[kind]} = any($2::bigint[])
         or c.trigger_data -> 'exclude_${kind}_ids' @> any($2::text[]::jsonb[])
         or c.audience -> '${kind}Ids' @> any($2::text[]::jsonb[])
         -- Pinned by a former process: what the segments in it name is protected by these.
         or not c.audience ? 'version' and jsonb_path_exists(c.audience, $3, $4))
     order by c.id limit 10`,
    [brandId, ids, path[kind], JSON.stringify({ ids })],
  );
}

/**
 * The names of active and paused flows that need one of these lists or segments: contacts of one enter them, or a filter or
 * a step of theirs names one, also one of an earlier version that runs follow. At most ten.
 */
export function flowsNaming(
  db: Queryable,
  { brandId }: Pick<BrandScope, 'brandId'>,
  kind: NamedKind,
  ids: readonly number[],
): Promise<string[]> {
  return namesOf(
    db,
    `select f.name from flows f
     where f.brand_id = $1 and f.status in ('active', 'paused')
       and (f.${triggerColumn[kind]} = any($2::bigint[])
         or jsonb_path_exists(jsonb_build_array(f.trigger_data, f.steps), $3, $4)
         or exists (
           select 1 from flow_versions v
           where v.flow_id = f.id and jsonb_path_exists(jsonb_build_array(v.exit_filters, v.steps), $3, $4)
             and (v.id = f.version_id
               or exists (select 1 from flow_runs r where r.flow_id = f.id and r.state = 'active' and r.version_id = v.id))))
     order by f.id limit 10`,
    [brandId, ids, path[kind], JSON.stringify({ ids })],
  );
}
