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
  namesCampaign,
  readsEvents,
  referenceProblems,
} from '../segments/index.ts';
import type { CampaignRow } from './model.ts';
import { isPinned, type NamedAudience, type PinnedAudience } from './pinned-audience.ts';

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
 * @param contacts with the end of periods such as the last 30 days, and whether the statement asks for a page of contacts
 * @param firstParameter the number of its first parameter: 2 for `$2`
 */
export async function compileAudience(
  db: Queryable,
  contacts: { brandId: number; asOf: Date; paged?: boolean },
  audience: PinnedAudience,
  firstParameter: number,
): Promise<AudienceCondition> {
  const parts: string[] = [];
  const values: unknown[] = [];
  const next = () => firstParameter + values.length;
  const addFilters = async (filters: readonly unknown[], write: (sql: string) => string) => {
    const conditions = expandFilters(filters, audience.segments);
    const compiled = await compileConditions(db, contacts, conditions, next());
    parts.push(write(compiled.sql));
    values.push(...compiled.values);
  };
  if (audience.listId !== null) {
    parts.push(membersOf(next()));
    values.push(audience.listId);
  }
  for (const filters of includedSets(audience)) await addFilters(filters, (sql) => `(${sql})`);
  if (audience.excludeListIds.length > 0) {
    parts.push(`not ${membersOfAny(next())}`);
    values.push(audience.excludeListIds);
  }
  for (const filters of audience.excludeFilters) await addFilters(filters, (sql) => `not (${sql})`);
  return { sql: parts.length > 0 ? parts.join(' and ') : 'false', values };
}

type TriggerFilters = Pick<CampaignRow, 'trigger_data' | 'trigger_filters'>;

/** Returns the filters in new trigger data, whose shape has been checked; null if there are none. */
export const filtersIn = ({ filters }: Readonly<Record<string, unknown>>): unknown[] | null =>
  Array.isArray(filters) && filters.length > 0 ? (filters as unknown[]) : null;

/**
 * Returns the filters of a stored trigger that select recipients; null if there are none. Versions that did not know
 * them stored a key `filters` like any other key: it has no effect, even if one of them replaced real filters by it.
 */
export const filtersOf = ({
  trigger_data: data,
  trigger_filters: filters,
}: TriggerFilters): unknown[] | null =>
  filters !== null && isDeepStrictEqual(filters, data.filters) ? filters : null;

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

type Trigger = TriggerFilters & Pick<CampaignRow, 'contact_list_id' | 'segment_id'>;

/** Whether a trigger selects contacts: without a list, a segment and filters, it has no audience. */
export const hasAudience = (trigger: Trigger): boolean =>
  trigger.contact_list_id !== null || trigger.segment_id !== null || filtersOf(trigger) !== null;

/** The field of a trigger to blame if it selects no contacts, or too many. */
export function audienceField(trigger: Trigger): string {
  if (trigger.contact_list_id !== null) return 'trigger_attributes.contact_list_id';
  return `trigger_attributes.${trigger.segment_id === null ? 'data.filters' : 'segment_id'}`;
}

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

/** Returns the sets of filters that contacts must match: those of the segment, and of the trigger itself. */
export const includedSets = ({ filters, ownFilters }: NamedAudience): unknown[][] => [
  ...(filters === null ? [] : [filters]),
  ...(ownFilters ? [ownFilters] : []),
];

/** Returns all sets of filters, included or excluded. */
export const filterSetsOf = (audience: NamedAudience): unknown[][] => [
  ...includedSets(audience),
  ...audience.excludeFilters,
];

/** Pins an audience with everything that its filters name. */
export function pinAudience(audience: NamedAudience, named: NamedByFilters): PinnedAudience {
  const { listId, segmentId, excludeListIds, excludeSegmentIds } = audience;
  const { segments } = named;
  const distinct = (...ids: (number | null)[]) => [...new Set(ids.filter((id) => id !== null))];
  const conditions = filterSetsOf(audience).flatMap((set) => expandFilters(set, segments));
  return {
    ...audience,
    version: audience.ownFilters || conditions.some(namesCampaign) ? 3 : 2,
    segments,
    listIds: distinct(listId, ...excludeListIds, ...named.listIds),
    segmentIds: distinct(segmentId, ...excludeSegmentIds, ...named.segmentIds),
    evaluated: conditions.some(readsEvents),
  };
}

/** The parts that decide which contacts are selected. Different segments may have the same filters. */
const selectionOf = (audience: PinnedAudience) => ({
  listId: audience.listId,
  excludeListIds: audience.excludeListIds,
  included: includedSets(audience).map((set) => expandFilters(set, audience.segments)),
  excluded: audience.excludeFilters.map((set) => expandFilters(set, audience.segments)),
});

/**
 * Whether an audience pinned earlier selects the same contacts as this one; false if it was pinned in the former form.
 */
export function isSameAudience(before: NamedAudience | null, audience: PinnedAudience): boolean {
  return isPinned(before) && isDeepStrictEqual(selectionOf(before), selectionOf(audience));
}

const TOO_LARGE = `leads to too many filters: the filters and all segments of the campaign, and the segments that they name, may have at most ${MAX_FILTERS} filters in ${MAX_DEPTH} levels`;

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
 * Resolves what a trigger and its filters name, at any depth. In a transaction it locks
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
  const own = filtersOf(trigger);
  const problems = own ? await referenceProblems(db, { brandId }, own) : [];
  const audience = {
    listId,
    segmentId,
    ...(own && problems.length === 0 ? { ownFilters: own } : {}),
    filters: segmentId === null ? null : (segments.get(segmentId) ?? []),
    excludeListIds,
    excludeSegmentIds,
    excludeFilters: excludeSegmentIds.map((id) => segments.get(id) ?? []),
  };
  const errors = unknownFields(trigger, lists, segments);
  for (const { path, message } of problems) {
    const field = ['data.filters', ...path].join('.');
    errors[field] = [...(errors[field] ?? []), message];
  }
  const named = await closeFilters(db, { brandId }, filterSetsOf(audience));
  if (named.isTooLarge) {
    const included = own ? 'data.filters' : 'segment_id';
    errors[excludeSegmentIds.length > 0 ? 'data.exclude_segment_ids' : included] = [TOO_LARGE];
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
