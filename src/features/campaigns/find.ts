/** Campaigns as requests find, lock and list them. */
import { notFound } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Page, RowCount, SizedItem } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { type IfMatch, requireRevision } from '../../platform/db/revisions.ts';
import type { CheckDeps } from './checks.ts';
import { contentSizes } from './content.ts';
import { type CampaignRow, findCampaign } from './model.ts';
import { findCampaigns, readCampaigns } from './campaign-list.ts';
import { presentCampaign, presentListed } from './presenter.ts';
import type { Campaign, CampaignSummary, ListCampaignsQuery } from './schema.ts';
import { lockCampaign } from './transitions.ts';

/** @throws AppError not_found */
export async function requireCampaign(db: Queryable, scope: BrandScope, id: number): Promise<CampaignRow> {
  const row = await findCampaign(db, scope, id);
  if (!row) throw notFound('campaign');
  return row;
}

/** Locks a campaign as {@link lockCampaign} does. @throws AppError not_found, precondition_failed */
export async function lockForRequest(
  trx: Queryable,
  scope: BrandScope,
  id: number,
  ifMatch: IfMatch,
): Promise<CampaignRow> {
  await requireCampaign(trx, scope, id);
  const row = await lockCampaign(trx, id);
  if (!row) throw notFound('campaign');
  requireRevision(ifMatch, row);
  return row;
}

/** @throws AppError not_found */
export async function getCampaign(
  db: Queryable,
  { limits }: Pick<CheckDeps, 'limits'>,
  scope: BrandScope,
  id: number,
): Promise<Campaign> {
  return presentCampaign(db, await requireCampaign(db, scope, id), limits);
}

/** Finds the campaigns of a page, newest first, with their sizes. */
export async function findListed(
  db: Queryable,
  scope: BrandScope,
  query: ListCampaignsQuery,
  page: Page,
): Promise<{ items: SizedItem[]; count: RowCount }> {
  const { rows, count } = await findCampaigns(db, scope, query, page);
  const sizes = await contentSizes(db, rows, query.summary ?? false);
  const items = rows.map(({ id, bytes }, n) => ({ id, bytes: bytes + (sizes[n] ?? 0) }));
  return { items, count };
}

/** Presents campaigns of a page. */
export async function presentPage(
  db: Queryable,
  { limits }: Pick<CheckDeps, 'limits'>,
  scope: BrandScope,
  ids: readonly number[],
  summary: boolean,
): Promise<CampaignSummary[]> {
  return presentListed(db, await readCampaigns(db, scope, ids), limits, summary);
}
