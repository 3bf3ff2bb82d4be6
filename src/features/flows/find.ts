/** Flows as requests find, lock and list them. */
import { notFound } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Page, RowCount, SizedItem } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { type IfMatch, requireRevision } from '../../platform/db/revisions.ts';
import { listedBytesSql } from '../templates/service.ts';
import { findFlow, findFlows, type FlowRow, lockFlow, readFlows } from './model.ts';
import { presentFlow, presentFlows } from './presenter.ts';
import type { Flow, FlowSummary, ListFlowsQuery } from './schema.ts';

/** @throws AppError not_found */
export async function requireFlow(db: Queryable, scope: BrandScope, id: number): Promise<FlowRow> {
  const row = await findFlow(db, scope, id);
  if (!row) throw notFound('flow');
  return row;
}

/** @throws AppError not_found; precondition_failed */
export async function lockForRequest(
  trx: Queryable,
  scope: BrandScope,
  id: number,
  ifMatch: IfMatch,
): Promise<FlowRow> {
  await requireFlow(trx, scope, id);
  const row = await lockFlow(trx, id);
  if (!row) throw notFound('flow');
  requireRevision(ifMatch, row);
  return row;
}

/** @throws AppError not_found */
export async function getFlow(db: Queryable, scope: BrandScope, id: number): Promise<Flow> {
  return presentFlow(db, await requireFlow(db, scope, id));
}

/** Finds the flows of a page, newest first, with their sizes. */
export async function findListed(
  db: Queryable,
  scope: BrandScope,
  query: ListFlowsQuery,
  page: Page,
): Promise<{ items: SizedItem[]; count: RowCount }> {
  // A body is shown twice: with its step and with its template.
  return findFlows(db, scope, query, page, listedBytesSql(query.summary ? 0 : 2));
}

/** Presents flows of a page. */
export async function presentPage(
  db: Queryable,
  scope: BrandScope,
  ids: readonly number[],
  summary: boolean,
): Promise<FlowSummary[]> {
  return presentFlows(db, scope, await readFlows(db, scope, ids), summary);
}
