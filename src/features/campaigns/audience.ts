import { invalid, type ValidationErrors } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { compileFilters } from '../segments/service.ts';
import type { CampaignRow, PinnedAudience } from './model.ts';

/** A condition over the alias `c` of contacts, after `where c.brand_id = …`. */
export interface AudienceCondition {
  sql: string;
  /** Bound to the parameters from `firstParameter` on. */
  values: unknown[];
}

const membersOf = (parameter: number) =>
  `exists (select 1 from list_members l where l.contact_id = c.id and l.list_id = $${parameter})`;
const membersOfAny = (parameter: number) =>
  `exists (select 1 from list_members l where l.contact_id = c.id and l.list_id = any($${parameter}))`;

/**
 * Compiles a pinned audience: contacts in the list and in the segment, except those who are excluded.
 * @param asOf the end of periods such as the last 30 days
 * @param firstParameter the number of its first parameter: 2 for `$2`
 */
export async function compileAudience(
  db: Queryable,
  { brandId, asOf }: { brandId: number; asOf: Date },
  audience: PinnedAudience,
  firstParameter: number,
): Promise<AudienceCondition> {
  const parts: string[] = [];
  const values: unknown[] = [];
  const next = () => firstParameter + values.length;
  const addFilters = async (filters: readonly unknown[], write: (sql: string) => string) => {
    const compiled = await compileFilters(db, { brandId, asOf }, filters, next());
    parts.push(write(compiled.sql));
    values.push(...compiled.values);
  };
  if (audience.listId !== null) {
    parts.push(membersOf(next()));
    values.push(audience.listId);
  }
  if (audience.filters !== null) await addFilters(audience.filters, (sql) => `(${sql})`);
  if (audience.excludeListIds.length > 0) {
    parts.push(`not ${membersOfAny(next())}`);
    values.push(audience.excludeListIds);
  }
  for (const filters of audience.excludeFilters) await addFilters(filters, (sql) => `not (${sql})`);
  return { sql: parts.length > 0 ? parts.join(' and ') : 'false', values };
}

/** What `trigger.data` of a campaign may name. */
export interface Exclusions {
  exclude_list_ids: number[];
  exclude_segment_ids: number[];
}

/** The exclusions in stored trigger data, whose shape was checked before. */
export function exclusionsOf(data: Readonly<Record<string, unknown>>): Exclusions {
  const ids = (value: unknown) => (Array.isArray(value) ? [...new Set(value as number[])] : []);
  return {
    exclude_list_ids: ids(data.exclude_list_ids),
    exclude_segment_ids: ids(data.exclude_segment_ids),
  };
}

type Trigger = Pick<CampaignRow, 'contact_list_id' | 'segment_id' | 'trigger_data'>;

async function knownLists(db: Queryable, brandId: number, ids: readonly number[]): Promise<Set<number>> {
  if (ids.length === 0) return new Set();
  const { rows } = await db.query<{ id: number }>(
    // Until the transaction ends, none of them can be deleted.
    'select id from lists where brand_id = $1 and id = any($2) and removed_at is null order by id for share',
    [brandId, ids],
  );
  return new Set(rows.map(({ id }) => id));
}

async function knownSegments(
  db: Queryable,
  brandId: number,
  ids: readonly number[],
): Promise<Map<number, unknown[]>> {
  if (ids.length === 0) return new Map();
  const { rows } = await db.query<{ id: number; filters: unknown[] }>(
    // Until the transaction ends, none of them can be deleted.
    'select id, filters from segments where brand_id = $1 and id = any($2) order by id for key share',
    [brandId, ids],
  );
  return new Map(rows.map(({ id, filters }) => [id, filters]));
}

export interface ResolvedAudience {
  audience: PinnedAudience;
  /** Fields that name a list or segment that the brand does not have. */
  errors: ValidationErrors;
}

/**
 * Resolves the lists and segments that a trigger names.
 * @param prefix of the fields in errors: `trigger_attributes` or `trigger`
 */
export async function resolveAudience(
  db: Queryable,
  { brandId }: Pick<BrandScope, 'brandId'>,
  trigger: Trigger,
  prefix = 'trigger_attributes',
): Promise<ResolvedAudience> {
  const { contact_list_id: listId, segment_id: segmentId } = trigger;
  const { exclude_list_ids: excludeListIds, exclude_segment_ids: excludeSegmentIds } = exclusionsOf(
    trigger.trigger_data,
  );
  const [lists, segments] = await Promise.all([
    knownLists(db, brandId, [...excludeListIds, ...(listId === null ? [] : [listId])]),
    knownSegments(db, brandId, [...excludeSegmentIds, ...(segmentId === null ? [] : [segmentId])]),
  ]);
  const errors: ValidationErrors = {};
  const check = (field: string, id: number | null, exists: boolean, kind: string) => {
    if (id !== null && !exists) errors[`${prefix}.${field}`] = [`is not a ${kind} of the brand`];
  };
  check('contact_list_id', listId, lists.has(listId ?? 0), 'list');
  check('segment_id', segmentId, segments.has(segmentId ?? 0), 'segment');
  for (const [index, id] of excludeListIds.entries()) {
    check(`data.exclude_list_ids.${index}`, id, lists.has(id), 'list');
  }
  for (const [index, id] of excludeSegmentIds.entries()) {
    check(`data.exclude_segment_ids.${index}`, id, segments.has(id), 'segment');
  }
  return {
    errors,
    audience: {
      listId,
      segmentId,
      filters: segmentId === null ? null : (segments.get(segmentId) ?? []),
      excludeListIds,
      excludeSegmentIds,
      excludeFilters: excludeSegmentIds.map((id) => segments.get(id) ?? []),
    },
  };
}

/** @throws AppError validation_error that names each list or segment that the brand does not have */
export async function requireAudience(
  db: Queryable,
  scope: Pick<BrandScope, 'brandId'>,
  trigger: Trigger,
): Promise<void> {
  const { errors } = await resolveAudience(db, scope, trigger);
  if (Object.keys(errors).length > 0) throw invalid(errors);
}
