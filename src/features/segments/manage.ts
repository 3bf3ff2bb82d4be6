import { invalid, notFound } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { isSender, requireSender } from '../../platform/auth/test-keys.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Page, RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { type IfMatch, requireRevision } from '../../platform/db/revisions.ts';
import { campaignsNaming, flowsNaming, lockLists, quoted, requireUnused } from '../lists/service.ts';
import { campaignProblems } from './campaign-mail.ts';
import { errorsOf, fieldOf, missingProblems } from './conditions.ts';
import {
  deleteSegmentRow,
  findAncestors,
  findFilters,
  findSegment,
  findSegments,
  nextFlowNamingSegments,
  insertSegment,
  lockSegments,
  replaceReferences,
  segmentsNaming,
  type SegmentRow,
  updateSegment,
} from './model.ts';
import type { Filter } from './parse.ts';
import {
  isTooLarge,
  loadReferenced,
  measure,
  type Outline,
  outline,
  type Outlines,
  segmentIds,
  type Shape,
  shapeOf,
  TOO_LARGE,
} from './references.ts';
import type { ChangeSegmentBody, CreateSegmentBody, Segment } from './schema.ts';

/** Maximum number of segments per brand. The list of segments is not divided into pages. */
export const MAX_SEGMENTS = 1_000;
/** Maximum number of segments whose filters are in memory at once, up to 64 KiB each. */
const SHAPES_AT_ONCE = 50;

function presentSegment(row: SegmentRow): Segment {
  return {
    id: row.id,
    account_id: row.account_id,
    name: row.name,
    filters: row.filters as Segment['filters'],
    revision: row.revision,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

/** Returns the filters as stored: each has a value, also inside groups. */
function withValues(filters: readonly Filter[]): Filter[] {
  return filters.map(({ name, predicate, value = null }) => {
    const isGroup = name === 'any' || name === 'all';
    return {
      name,
      predicate,
      value: isGroup ? withValues(value as Filter[]) : value,
    };
  });
}

/** @throws AppError validation_error that names the path of each id that is not one of the brand's */
async function requireReferences(
  trx: Queryable,
  scope: Pick<BrandScope, 'brandId'>,
  { references }: Outline,
  segments: Outlines,
): Promise<void> {
  const listIds = references.filter(({ kind }) => kind === 'list').map(({ id }) => id);
  const lists = listIds.length > 0 ? await lockLists(trx, scope.brandId, listIds) : new Set<number>();
  const problems = [
    ...missingProblems(references, { lists, segments }),
    ...(await campaignProblems(trx, scope, references)),
  ];
  if (problems.length > 0) throw invalid(errorsOf(problems));
}

/**
 * Checks the lists, segments and campaigns that unstored filters name.
 * @throws AppError validation_error that names the path of each id that is not one of the brand's
 */
export async function requireKnownReferences(
  db: Queryable,
  scope: Pick<BrandScope, 'brandId'>,
  filters: readonly unknown[],
): Promise<void> {
  const one = outline(filters);
  const known: Outlines = new Map();
  await loadReferenced(db, scope, one, known);
  await requireReferences(db, scope, one, known);
}

/**
 * Adds the shapes of segments, and of those that they name directly or through others. A brand has at most
 * {@link MAX_SEGMENTS}.
 */
async function loadShapes(
  db: Queryable,
  scope: BrandScope,
  segments: readonly { id: number }[],
  shapes: Map<number, Shape>,
): Promise<void> {
  let missing = new Set(segments.map(({ id }) => id).filter((id) => !shapes.has(id)));
  while (missing.size > 0) {
    const ids = [...missing].slice(0, SHAPES_AT_ONCE);
    const rows = await findFilters(db, scope, ids);
    const read = rows.map(({ id, filters }) => [id, shapeOf(filters)] as const);
    for (const [id, shape] of read) shapes.set(id, shape);
    const named = segmentIds(read.map(([, shape]) => shape));
    missing = new Set([...missing, ...named].filter((id) => !shapes.has(id) && !ids.includes(id)));
  }
}

/**
 * Checks the size of the filters of active and paused flows.
 * @param changed segments whose filters change
 * @param shapes of segments, with the filters that are about to be stored
 * @throws AppError validation_error if a flow would have too many filters
 */
async function requireFlowShapes(
  trx: Queryable,
  scope: BrandScope,
  changed: ReadonlySet<number>,
  shapes: Map<number, Shape>,
): Promise<void> {
  let after = 0;
  for (;;) {
    const flow = await nextFlowNamingSegments(trx, scope, after);
    if (!flow) return;
    for (const filters of flow.filters) {
      const shape = outline(filters, { steps: null, received: true });
      if (!segmentIds([shape]).some((id) => changed.has(id))) continue;
      await loadShapes(
        trx,
        scope,
        segmentIds([shape]).map((id) => ({ id })),
        shapes,
      );
      const size = measure(shape, shapes);
      if (size && !isTooLarge(size)) continue;
      throw invalid({
        filters: [`would make filters of the flow "${flow.name}", which name this segment, too large`],
      });
    }
    after = flow.id;
  }
}

/** @throws AppError validation_error for a cycle, or if the segment or one that names it would be too large */
async function requireShape(
  trx: Queryable,
  scope: BrandScope,
  id: number | null,
  one: Outline,
  known: Outlines,
): Promise<void> {
  const size = measure(one, known, id === null ? [] : [id]);
  if (!size) {
    const path = one.references.find(({ kind, id: named }) => {
      const inner = kind === 'segment' ? known.get(named) : undefined;
      return inner && (named === id || measure(inner, known, [id ?? 0, named]) === null);
    })?.path;
    throw invalid({ [path ? fieldOf(path) : 'filters']: ['leads back to this segment'] });
  }
  if (isTooLarge(size)) throw invalid({ filters: [TOO_LARGE] });
  if (id === null) return;
  const ancestors = await findAncestors(trx, id);
  const shapes = new Map<number, Shape>(known);
  await loadShapes(trx, scope, ancestors, shapes);
  for (const ancestor of ancestors) {
    const shape = shapes.get(ancestor.id);
    const grown = shape ? measure(shape, shapes, [ancestor.id]) : { count: 0, depth: 0 };
    if (grown && !isTooLarge(grown)) continue;
    throw invalid({
      filters: [`would make the segment "${ancestor.name}", which names this one, too large`],
    });
  }
  await requireFlowShapes(trx, scope, new Set([id, ...ancestors.map((ancestor) => ancestor.id)]), shapes);
}

/**
 * Checks filters that are about to be stored, under the lock of the brand's segments.
 * @param id of the segment that will have them; null for a new one
 */
async function requireStorable(
  trx: Queryable,
  scope: BrandScope,
  id: number | null,
  filters: readonly Filter[],
): Promise<Outline> {
  const one = outline(filters);
  const known: Outlines = new Map();
  // A reference back to this segment means its new filters, not those that they replace.
  if (id !== null) known.set(id, one);
  await loadReferenced(trx, scope, one, known);
  await requireReferences(trx, scope, one, known);
  await requireShape(trx, scope, id, one, known);
  return one;
}

/** Lists the segments of a brand, newest first. */
export async function listSegments(
  db: Queryable,
  scope: BrandScope,
  page: Page,
): Promise<{ segments: Segment[]; count: RowCount }> {
  const { rows, count } = await findSegments(db, scope, page);
  return { segments: rows.map(presentSegment), count };
}

/** @throws AppError not_found */
export async function getSegment(db: Queryable, scope: BrandScope, id: number): Promise<Segment> {
  const row = await findSegment(db, scope, id);
  if (!row) throw notFound('segment');
  return presentSegment(row);
}

/** @throws AppError validation_error */
export async function createSegment(
  trx: Queryable,
  tenant: Tenant,
  body: CreateSegmentBody,
): Promise<Segment> {
  const count = await lockSegments(trx, tenant);
  if (count >= MAX_SEGMENTS)
    throw invalid({
      name: [`cannot be added: the brand already has the maximum of ${MAX_SEGMENTS} segments`],
    });
  const { references } = await requireStorable(trx, tenant, null, body.filters);
  const row = await insertSegment(trx, tenant, { name: body.name, filters: withValues(body.filters) });
  await replaceReferences(trx, row.id, references);
  return presentSegment(row);
}

/**
 * Keeps test keys and unconfirmed assistants from changing a segment that a live campaign or flow uses, directly or
 * through other segments.
 * @throws AppError test_key, confirmation_required
 */
async function requireIdle(trx: Queryable, tenant: Tenant, id: number): Promise<void> {
  if (isSender(tenant)) return;
  const ids = [id, ...(await findAncestors(trx, id)).map((ancestor) => ancestor.id)];
  const campaigns = await campaignsNaming(trx, tenant, 'segment', ids);
  const users = campaigns.length > 0 ? campaigns : await flowsNaming(trx, tenant, 'segment', ids);
  if (users.length === 0) return;
  requireSender(tenant, `change a segment that ${quoted(users)} ${users.length === 1 ? 'uses' : 'use'}`);
}

/** @throws AppError not_found, precondition_failed, test_key, confirmation_required, validation_error */
export async function changeSegment(
  trx: Queryable,
  scope: Tenant,
  id: number,
  { name, filters }: ChangeSegmentBody,
  ifMatch: IfMatch,
): Promise<Segment> {
  await lockSegments(trx, scope);
  const row = await findSegment(trx, scope, id);
  if (!row) throw notFound('segment');
  requireRevision(ifMatch, row);
  await requireIdle(trx, scope, id);
  if (filters) {
    const { references } = await requireStorable(trx, scope, id, filters);
    await replaceReferences(trx, id, references);
  }
  const changes = {
    ...(name === undefined ? {} : { name }),
    ...(filters ? { filters: withValues(filters) } : {}),
  };
  return presentSegment(await updateSegment(trx, scope, row, changes));
}

/**
 * @throws AppError not_found; precondition_failed; conflict if another segment, a campaign whose recipients are not
 *   all written, or an active or paused flow names it
 */
export async function deleteSegment(
  trx: Queryable,
  scope: BrandScope,
  id: number,
  ifMatch: IfMatch,
): Promise<Segment> {
  await lockSegments(trx, scope);
  // Waits for a transaction that starts to send a campaign and has just pinned the segment.
  const row = await deleteSegmentRow(trx, scope, id);
  if (!row) throw notFound('segment');
  requireRevision(ifMatch, row);
  await requireUnused(trx, scope, 'segment', id, await segmentsNaming(trx, id));
  return presentSegment(row);
}
