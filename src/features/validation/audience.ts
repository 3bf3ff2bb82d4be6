import { createHash } from 'node:crypto';
import { invalid } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { requireLists } from '../lists/service.ts';
import {
  closeFilters,
  type ClosedSegments,
  compileConditions,
  expandFilters,
  loadConditions,
} from '../segments/index.ts';
import type { AudienceBody, AudienceKind } from './schema.ts';

/** An audience in its stored form: its kind and its distinct ids, ascending. */
export interface Audience {
  kind: AudienceKind;
  /** For a list or a segment, its one id. */
  ids: number[];
}

/** A segment's filters at the time when an operation was started. */
export interface PinnedFilters {
  filters: unknown[];
  /**
   * The filters of the segments that these name, at any depth. Null if an older version of the service started the
   * operation: then they are read when needed.
   */
  segments: ClosedSegments | null;
}

/** Maximum number of ids that an error lists. */
const MAX_NAMED = 100;
/** How long a conclusive result is reused. */
export const REUSED = `interval '30 days'`;

const distinct = (ids: readonly number[]) => [...new Set(ids)].sort((one, other) => one - other);

/** @param body names exactly one audience */
export function audienceOf(body: AudienceBody): Audience {
  if (body.contact_channel_ids) {
    return { kind: 'contact_channel_ids', ids: distinct(body.contact_channel_ids) };
  }
  if (body.contact_ids) return { kind: 'contact_ids', ids: distinct(body.contact_ids) };
  if (body.list_id !== undefined) return { kind: 'list_id', ids: [body.list_id] };
  return { kind: 'segment_id', ids: [body.segment_id as number] };
}

/** Equal only for equal audiences. */
export function digestOf({ kind, ids }: Audience): Buffer {
  return createHash('sha256')
    .update(`${kind}:${ids.join(',')}`)
    .digest();
}

function refuseIds(field: string, ids: readonly number[], what: string): void {
  if (ids.length === 0) return;
  const more = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : '';
  throw invalid({
    [field]: [`contains ids that are not ${what}: ${ids.slice(0, MAX_NAMED).join(', ')}${more}`],
  });
}

/** An email channel's id is twice the id of its contact, a phone channel's one more. */
const contactIdOf = (channelId: number) => Math.floor(channelId / 2);
const isPhone = (channelId: number) => channelId % 2 === 1;

/** Which of these are contacts of the brand, and whether they have an email address. */
async function findEmails(
  db: Queryable,
  { brandId }: Pick<BrandScope, 'brandId'>,
  ids: readonly number[],
): Promise<Map<number, boolean>> {
  const { rows } = await db.query<{ id: number; has_email: boolean }>(
    'select id, email is not null as has_email from contacts where brand_id = $1 and id = any($2)',
    [brandId, ids],
  );
  return new Map(rows.map(({ id, has_email: hasEmail }) => [id, hasEmail]));
}

/**
 * Checks that the brand has what an audience names.
 * @returns the segment's filters, to be stored with the operation; null for other kinds
 * @throws AppError validation_error
 */
export async function requireKnown(
  db: Queryable,
  scope: BrandScope,
  { kind, ids }: Audience,
): Promise<PinnedFilters | null> {
  if (kind === 'list_id') {
    await requireLists(db, scope.brandId, ids, { field: kind });
  } else if (kind === 'segment_id') {
    const { rows } = await db.query<{ filters: unknown[] }>(
      'select filters from segments where brand_id = $1 and id = $2',
      [scope.brandId, ids[0]],
    );
    if (!rows[0]) throw invalid({ segment_id: ['is not a segment of the brand'] });
    const { filters } = rows[0];
    // Take no locks: a request that changes a segment must not wait for a count.
    const { segments } = await closeFilters(db, scope, [filters], { lock: false });
    return { filters, segments };
  } else if (kind === 'contact_ids') {
    const found = await findEmails(db, scope, ids);
    const unknown = ids.filter((id) => !found.has(id));
    refuseIds(kind, unknown, 'contacts of the brand');
  } else {
    const found = await findEmails(db, scope, ids.map(contactIdOf));
    const wrong = ids.filter((id) => isPhone(id) || found.get(contactIdOf(id)) !== true);
    refuseIds(kind, wrong, 'email channels of the brand');
  }
  return null;
}

/** Selects the contacts that are candidates. */
export interface CandidateSource {
  /** SQL to follow `from`, including the `where` clause. Contacts are `c`, the brand is `$1`. */
  sql: string;
  /** Bound to the parameters from `$2` on. */
  values: unknown[];
  /** Whether the candidates are the members of a list. */
  isList?: boolean;
}

/**
 * @param scope with `paged` if the statement asks only for the contacts of a page, by a range of ids
 * @param pinned the segment's filters
 * @param asOf the end of the periods that filters name
 */
export async function candidatesOf(
  db: Queryable,
  { brandId, paged }: Pick<BrandScope, 'brandId'> & { paged?: boolean },
  { kind, ids }: Audience,
  pinned: PinnedFilters | null,
  asOf: Date,
): Promise<CandidateSource> {
  const condition = 'c.brand_id = $1 and c.email is not null';
  if (kind === 'list_id') {
    return {
      sql: `list_members m join contacts c on c.id = m.contact_id where m.list_id = $2 and ${condition}`,
      values: ids,
      isList: true,
    };
  }
  if (kind === 'segment_id') {
    const { filters, segments } = pinned ?? { filters: [], segments: {} };
    const conditions = segments
      ? expandFilters(filters, segments)
      : await loadConditions(db, { brandId }, filters);
    const { sql, values } = await compileConditions(db, { brandId, asOf, paged }, conditions, 2);
    return { sql: `contacts c where ${condition} and ${sql}`, values };
  }
  const contactIds = kind === 'contact_ids' ? ids : ids.map(contactIdOf);
  return { sql: `contacts c where ${condition} and c.id = any($2::bigint[])`, values: [contactIds] };
}

/**
 * SQL: joins, as `v`, the reusable result of contact `c` of the brand `$1`.
 * @param asOf SQL: the time at which the result must be young enough
 */
export const reusableJoin = (asOf: string): string =>
  `left join contact_verdicts v on v.brand_id = $1 and v.contact_id = c.id and v.email_key = c.email_key and v.reusable
     and v.checked_at > ${asOf} - ${REUSED}`;

export interface CandidateCount {
  candidates: number;
  reusable: number;
  /** 0 if there are no candidates. */
  maxContactId: number;
}

/**
 * Lets one process merge the indexes of members, contacts and results, which have the same order. PostgreSQL would
 * prefer hash tables in three processes, which take three times as long on a busy machine, and 200 MB.
 */
const MERGE = 'set local enable_hashjoin = off; set local max_parallel_workers_per_gather = 0';

/**
 * Counts the candidates, and how many of them have a reusable result.
 * @param db inside a transaction
 */
export async function countCandidates(
  db: Queryable,
  { brandId }: Pick<BrandScope, 'brandId'>,
  source: CandidateSource,
  asOf: Date,
): Promise<CandidateCount> {
  const time = `$${source.values.length + 2}::timestamptz`;
  if (source.isList) await db.query(MERGE);
  const { rows } = await db.query<CandidateCount>(
    `select count(*) as candidates, count(v.contact_id) as reusable, coalesce(max(c.id), 0) as "maxContactId"
     from (select c.id, c.email_key from ${source.sql}) c ${reusableJoin(time)}`,
    [brandId, ...source.values, asOf],
  );
  return rows[0] as CandidateCount;
}
