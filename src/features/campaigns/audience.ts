import { isDeepStrictEqual } from 'node:util';
import { invalid, type ValidationErrors } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import {
  closeFilters,
  compileConditions,
  expandFilters,
  MAX_DEPTH,
  MAX_FILTERS,
  type NamedByFilters,
  readsEvents,
} from '../segments/service.ts';
import { type CampaignRow, isPinned, type NamedAudience, type PinnedAudience } from './model.ts';

/** SQL: a condition over the contacts `c`, which follows `where c.brand_id = …`. */
export interface AudienceCondition {
  sql: string;
  /** The values of its parameters, from `firstParameter` on. */
  values: unknown[];
}

const membersOf = (parameter: number) =>
  `exists (select 1 from list_members l where l.contact_id = c.id and l.list_id = $${parameter})`;
const membersOfAny = (parameter: number) =>
  `exists (select 1 from list_members l where l.contact_id = c.id and l.list_id = any($${parameter}))`;

/**
 * Compiles a pinned audience: contacts in the list and in the segment, without those that are excluded.
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
    const conditions = expandFilters(filters, audience.segments);
    const compiled = await compileConditions(db, { brandId, asOf }, conditions, next());
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

/** Returns the exclusions in stored trigger data, whose shape has been checked. */
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
    // Locks them against deletion until the transaction ends.
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
    // Locks them against changes and deletion until the transaction ends.
    'select id, filters from segments where brand_id = $1 and id = any($2) order by id for share',
    [brandId, ids],
  );
  return new Map(rows.map(({ id, filters }) => [id, filters]));
}

/** Returns the filters of each segment, included or excluded. */
export const filterSetsOf = ({ filters, excludeFilters }: NamedAudience): unknown[][] => [
  ...(filters === null ? [] : [filters]),
  ...excludeFilters,
];

/** Pins an audience with everything that its filters name. */
export function pinAudience(audience: NamedAudience, named: NamedByFilters): PinnedAudience {
  const { listId, segmentId, excludeListIds, excludeSegmentIds } = audience;
  const { segments } = named;
  const distinct = (...ids: (number | null)[]) => [...new Set(ids.filter((id) => id !== null))];
  return {
    ...audience,
    version: 2,
    segments,
    listIds: distinct(listId, ...excludeListIds, ...named.listIds),
    segmentIds: distinct(segmentId, ...excludeSegmentIds, ...named.segmentIds),
    evaluated: filterSetsOf(audience).some((set) => expandFilters(set, segments).some(readsEvents)),
  };
}

/** The parts that decide which contacts are selected. Different segments may have the same filters. */
const selectionOf = ({ listId, filters, excludeListIds, excludeFilters, segments }: PinnedAudience) => ({
  listId,
  excludeListIds,
  included: filters && expandFilters(filters, segments),
  excluded: excludeFilters.map((set) => expandFilters(set, segments)),
});

/**
 * Whether an audience pinned earlier selects the same contacts as this one; false if it was pinned in the former form.
 */
export function isSameAudience(before: NamedAudience | null, audience: PinnedAudience): boolean {
  return isPinned(before) && isDeepStrictEqual(selectionOf(before), selectionOf(audience));
}

const TOO_LARGE = `leads to too many filters: all segments of the campaign and the segments that they name may have at most ${MAX_FILTERS} filters in ${MAX_DEPTH} levels`;

export interface ResolvedAudience {
  audience: PinnedAudience;
  /** Errors of fields that name a list or segment that the brand does not have, or lead to too many filters. */
  errors: ValidationErrors;
}

/** Returns errors of fields that name lists or segments that the brand does not have. */
function unknownFields(
  trigger: Trigger,
  lists: ReadonlySet<number>,
  segments: ReadonlyMap<number, unknown>,
): ValidationErrors {
  const excluded = exclusionsOf(trigger.trigger_data);
  const errors: ValidationErrors = {};
  const check = (field: string, id: number | null, exists: boolean, kind: string) => {
    if (id !== null && !exists) errors[field] = [`is not a ${kind} of the brand`];
  };
  check('contact_list_id', trigger.contact_list_id, lists.has(trigger.contact_list_id ?? 0), 'list');
  check('segment_id', trigger.segment_id, segments.has(trigger.segment_id ?? 0), 'segment');
  for (const [index, id] of excluded.exclude_list_ids.entries()) {
    check(`data.exclude_list_ids.${index}`, id, lists.has(id), 'list');
  }
  for (const [index, id] of excluded.exclude_segment_ids.entries()) {
    check(`data.exclude_segment_ids.${index}`, id, segments.has(id), 'segment');
  }
  return errors;
}

/**
 * Resolves the lists and segments that a trigger names, and the segments that these name. In a transaction it locks
 * them, so that no list is deleted and no segment changes until the transaction ends.
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
  const lists = await knownLists(db, brandId, [...excludeListIds, ...(listId === null ? [] : [listId])]);
  const segments = await knownSegments(db, brandId, [
    ...excludeSegmentIds,
    ...(segmentId === null ? [] : [segmentId]),
  ]);
  const audience = {
    listId,
    segmentId,
    filters: segmentId === null ? null : (segments.get(segmentId) ?? []),
    excludeListIds,
    excludeSegmentIds,
    excludeFilters: excludeSegmentIds.map((id) => segments.get(id) ?? []),
  };
  const errors = unknownFields(trigger, lists, segments);
  const named = await closeFilters(db, { brandId }, filterSetsOf(audience));
  if (named.isTooLarge) {
    errors[excludeSegmentIds.length > 0 ? 'data.exclude_segment_ids' : 'segment_id'] = [TOO_LARGE];
  }
  const fields = Object.entries(errors).map(([field, problems]) => [`${prefix}.${field}`, problems]);
  return { audience: pinAudience(audience, named), errors: Object.fromEntries(fields) as ValidationErrors };
}

/**
 * @throws AppError validation_error that names each list or segment that the brand does not have, or says that the segments
 *   have too many filters
 */
export async function requireAudience(
  db: Queryable,
  scope: Pick<BrandScope, 'brandId'>,
  trigger: Trigger,
): Promise<void> {
  const { errors } = await resolveAudience(db, scope, trigger);
  if (Object.keys(errors).length > 0) throw invalid(errors);
}
