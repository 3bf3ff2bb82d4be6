/** Contacts that may have begun or ceased to match the segment of a flow since they were last compared. */
import { exactTime, type Queryable } from '../../../platform/db/queryable.ts';
import { type Condition, loadConditions } from '../../segments/index.ts';
import type { AudienceFlow } from './audience-state.ts';

/** Number of contacts compared by one statement. */
const PAGE = 5_000;
/** Maximum number of active contacts per minute; beyond it, all contacts are compared instead. */
const MAX_ACTIVE = 50_000;
/** How far each look goes back behind the last one, in seconds, because the transaction of an event may commit late. */
const OVERLAP_SECONDS = 120;

/** Rows of `flow_candidates`, oldest first. */
export interface NotedPage {
  rowIds: number[];
  contactIds: number[];
  isLast: boolean;
}

/** Reads contacts that changed, or whose lists changed, since they were last compared. */
export async function notedCandidates(db: Queryable, flowId: number): Promise<NotedPage> {
  const { rows } = await db.query<{ id: number; contact_id: number }>(
    'select id, contact_id from flow_candidates where flow_id = $1 order by id limit $2',
    [flowId, PAGE],
  );
  return {
    rowIds: rows.map(({ id }) => id),
    contactIds: [...new Set(rows.map((row) => row.contact_id))],
    isLast: rows.length < PAGE,
  };
}

export async function forgetCandidates(trx: Queryable, rowIds: readonly number[]): Promise<void> {
  await trx.query('delete from flow_candidates where id = any($1)', [rowIds]);
}

function readsActivity(condition: Condition): boolean {
  switch (condition.type) {
    case 'all':
    case 'any':
      return condition.parts.some(readsActivity);
    case 'not':
      return readsActivity(condition.part);
    case 'value':
      return 'column' in condition.operand && condition.operand.column === 'last_interacted_at';
    default:
      return condition.type === 'did';
  }
}

/** Contacts with events, sends, opens or clicks until a time, at which the next look begins. */
export interface ActiveContacts {
  until: string;
  /** Null if they are too many to compare one by one. */
  contactIds: number[] | null;
}

/**
 * Finds contacts with events, sends, opens or clicks since the last look, if the segment depends on these.
 * @param seenAt the end of the last look; null if there was none
 */
export async function activeContacts(
  db: Queryable,
  { brand_id: brandId, segment_id: segmentId }: AudienceFlow,
  seenAt: Date | null,
): Promise<ActiveContacts> {
  const { rows } = await db.query<{ until: string; filters: unknown[] }>(
    `select ${exactTime('now()')} as until, filters from segments where brand_id = $1 and id = $2`,
    [brandId, segmentId],
  );
  const [segment] = rows;
  const conditions = segment ? await loadConditions(db, { brandId }, segment.filters) : [];
  if (!segment || !conditions.some(readsActivity)) {
    return { until: segment?.until ?? new Date().toISOString(), contactIds: [] };
  }
  const found = await db.query<{ contact_id: number }>(
    `with since as (select coalesce($2::timestamptz, now()) - make_interval(secs => $3) as at)
     select contact_id from contact_events e, since
     where e.brand_id = $1 and e.created_at >= since.at and not e.test
     union
     select contact_id from contact_engagement g, since
     where g.brand_id = $1 and g.kind in (0, 1, 2) and g.created_at >= since.at
     limit $4`,
    [brandId, seenAt, OVERLAP_SECONDS, MAX_ACTIVE + 1],
  );
  const contactIds = found.rows.map((row) => row.contact_id);
  return { until: segment.until, contactIds: contactIds.length > MAX_ACTIVE ? null : contactIds };
}

/** Divides contacts into parts for one statement each. */
export function partsOf(contactIds: readonly number[]): number[][] {
  const parts: number[][] = [];
  for (let from = 0; from < contactIds.length; from += PAGE) parts.push(contactIds.slice(from, from + PAGE));
  return parts;
}
