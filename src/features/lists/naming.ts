/** Finds the campaigns and flows that use a list or a segment, which therefore cannot be deleted. */
import { AppError } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** What campaigns and flows can name. */
export type NamedKind = 'list' | 'segment';

const triggerColumn = { list: 'contact_list_id', segment: 'segment_id' } as const;

async function namesOf(db: Queryable, sql: string, values: unknown[]): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(sql, values);
  return rows.map((row) => row.name);
}

/** SQL/JSON paths of the filters, at any depth, and the steps that name a list or a segment. */
const path = {
  list: '$.** ? (@.name == "list" && @.value == $ids[*] || (@.type == "add_to_list" || @.type == "remove_from_list") && @.list_id == $ids[*])',
  segment: '$.** ? (@.name == "segment" && @.value == $ids[*])',
} as const;

/**
 * Returns the names of at most ten campaigns that use one of these lists or segments. Such a campaign is scheduled or
 * still chooses recipients, and it is sent to one of them, excludes one, or has filters in its pinned audience that
 * name one, at any depth.
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
 * Returns the names of at most ten active or paused flows that use one of these lists or segments. Contacts of one
 * enter such a flow, or one of its filters or steps names one, in its present version or an earlier one that still has
 * runs.
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

export const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

/**
 * Checks that nothing uses a list or a segment that is to be deleted.
 * @param segments the names of the segments that use it
 * @throws AppError conflict that names what does
 */
export async function requireUnused(
  trx: Queryable,
  scope: Pick<BrandScope, 'brandId'>,
  kind: NamedKind,
  id: number,
  segments: readonly string[],
): Promise<void> {
  const conflict = (problem: string, names: readonly string[]) =>
    new AppError('conflict', `${problem}: ${quoted(names)}`);
  if (segments.length > 0) {
    const users = kind === 'segment' ? 'other segments' : 'segments';
    throw conflict(`${users} use the ${kind}; change them first`, segments);
  }
  const campaigns = await campaignsNaming(trx, scope, kind, [id]);
  if (campaigns.length > 0) {
    const until = 'until their recipients are written; wait, or cancel them first';
    throw conflict(`campaigns use the ${kind} ${until}`, campaigns);
  }
  const flows = await flowsNaming(trx, scope, kind, [id]);
  if (flows.length > 0) throw conflict(`flows use the ${kind}; change or archive them first`, flows);
}
