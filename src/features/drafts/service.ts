import { isDeepStrictEqual } from 'node:util';
import { notFound } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Page, RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { type IfMatch, requireRevision } from '../../platform/db/revisions.ts';
import {
  deleteDraftRow,
  type DraftOf,
  type DraftRow,
  type DraftSummaryRow,
  findDraft,
  findDrafts,
  hasResource,
  insertDraft,
  updateDraft,
} from './model.ts';
import type { Draft, DraftKind, DraftSummary, PutDraftBody } from './schema.ts';

export { removeDrafts } from './model.ts';

function presentSummary(row: DraftSummaryRow): DraftSummary {
  const { updated_by_user_id: userId, updated_by_name: name } = row;
  return {
    id: row.id,
    kind: row.kind,
    resource_id: row.resource_id,
    base: row.base,
    revision: row.revision,
    updated_by: userId === null ? null : { id: userId, name: name ?? '' },
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

function presentDraft(row: DraftRow | null): Draft {
  if (!row) throw notFound('draft');
  const { content, base_content, resource_changed_by } = row;
  return { ...presentSummary(row), content, base_content, resource_changed_by };
}

const resourceName = (kind: DraftKind) => kind.slice(0, -1);

/** Lists the drafts of a brand without their contents, newest first. */
export async function listDrafts(
  db: Queryable,
  scope: BrandScope,
  kind: DraftKind | undefined,
  page: Page,
): Promise<{ drafts: DraftSummary[]; count: RowCount }> {
  const { rows, count } = await findDrafts(db, scope, kind, page);
  return { drafts: rows.map(presentSummary), count };
}

/**
 * @returns null if the resource has no draft
 * @throws AppError not_found if the brand has no such resource
 */
export async function getDraft(db: Queryable, scope: BrandScope, of: DraftOf): Promise<Draft | null> {
  const row = await findDraft(db, scope, of);
  if (row) return presentDraft(row);
  if (!(await hasResource(db, scope, of))) throw notFound(resourceName(of.kind));
  return null;
}

/**
 * Saves a draft: the first one of a resource, or the next version of what the client has seen.
 * @param ifMatch the version that it replaces; null requires that there is none
 * @throws AppError not_found if the brand has no such resource; precondition_failed
 */
export async function putDraft(
  trx: Queryable,
  tenant: Tenant,
  of: DraftOf,
  body: PutDraftBody,
  ifMatch: IfMatch,
): Promise<Draft> {
  if (!(await hasResource(trx, tenant, of, { lock: true }))) throw notFound(resourceName(of.kind));
  const row = await findDraft(trx, tenant, of, { lock: true });
  requireRevision(ifMatch ?? 'none', row);
  const userId = tenant.actor.kind === 'user' ? tenant.actor.id : null;
  if (row) {
    const kept = row.base === body.base ? row.base_content : null;
    const next = { ...body, base_content: body.base_content === undefined ? kept : body.base_content };
    const { base, content, base_content } = row;
    if (!isDeepStrictEqual(next, { base, content, base_content }))
      await updateDraft(trx, row.id, next, userId);
  } else if (!(await insertDraft(trx, tenant, of, body, userId))) {
    // Another editor has just saved the first one.
    requireRevision('none', await findDraft(trx, tenant, of));
  }
  return presentDraft(await findDraft(trx, tenant, of));
}

/**
 * Deletes the draft of a resource.
 * @returns the draft as it was
 * @throws AppError not_found, precondition_failed
 */
export async function deleteDraft(
  trx: Queryable,
  scope: BrandScope,
  of: DraftOf,
  ifMatch: IfMatch,
): Promise<Draft> {
  const row = await findDraft(trx, scope, of, { lock: true });
  if (row) requireRevision(ifMatch, row);
  const draft = presentDraft(row);
  await deleteDraftRow(trx, draft.id);
  return draft;
}
