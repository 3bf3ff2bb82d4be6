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
import type { Draft, DraftContent, DraftKind, DraftSummary, PutDraftBody } from './schema.ts';

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

/** How the drafts of a kind are stored, if not as the editor sent them. */
export interface DraftForm {
  /** @returns the content to store */
  store(trx: Queryable, scope: BrandScope, content: DraftContent): Promise<DraftContent>;
  /** @param content as it is stored, perhaps by an older version of the service */
  show(scope: BrandScope, content: DraftContent): DraftContent;
}

/** Kinds that are left out are stored as the editor sent them. */
export type DraftForms = Partial<Readonly<Record<DraftKind, DraftForm>>>;

const asSent: DraftForm = {
  store: (_trx, _scope, content) => Promise.resolve(content),
  show: (_scope, content) => content,
};
const formOf = (forms: DraftForms, { kind }: DraftOf): DraftForm => forms[kind] ?? asSent;

const resourceName = (kind: DraftKind) => kind.slice(0, -1);

function presentDraft(scope: BrandScope, row: DraftRow | null, forms: DraftForms): Draft {
  if (!row) throw notFound('draft');
  const form = formOf(forms, row);
  const { content, base_content: base, resource_changed_by } = row;
  return {
    ...presentSummary(row),
    content: form.show(scope, content),
    base_content: base && form.show(scope, base),
    resource_changed_by,
  };
}

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
export async function getDraft(
  db: Queryable,
  scope: BrandScope,
  of: DraftOf,
  forms: DraftForms,
): Promise<Draft | null> {
  const row = await findDraft(db, scope, of);
  if (row) return presentDraft(scope, row, forms);
  if (!(await hasResource(db, scope, of))) throw notFound(resourceName(of.kind));
  return null;
}

interface PutDraft {
  body: PutDraftBody;
  /** The version that the draft replaces; null requires that there is none. */
  ifMatch: IfMatch;
  forms: DraftForms;
}

/** The parts of a draft that have the form of its kind. */
type Contents = Pick<DraftRow, 'content' | 'base_content'>;

async function storedForm(
  trx: Queryable,
  scope: BrandScope,
  form: DraftForm,
  { content, base_content: base }: Contents,
): Promise<Contents> {
  const stored = await form.store(trx, scope, content);
  return { content: stored, base_content: base && (await form.store(trx, scope, base)) };
}

/**
 * Saves a draft: the first one of a resource, or the next version of what the client has seen.
 * @throws AppError not_found if the brand has no such resource; precondition_failed
 */
export async function putDraft(
  trx: Queryable,
  tenant: Tenant,
  of: DraftOf,
  { body, ifMatch, forms }: PutDraft,
): Promise<Draft> {
  if (!(await hasResource(trx, tenant, of, { lock: true }))) throw notFound(resourceName(of.kind));
  const row = await findDraft(trx, tenant, of, { lock: true });
  requireRevision(ifMatch ?? 'none', row);
  const userId = tenant.actor.kind === 'user' ? tenant.actor.id : null;
  const form = formOf(forms, of);
  const kept = row?.base === body.base ? row.base_content : null;
  const { base, base_content: given = kept } = body;
  const next = { base, ...(await storedForm(trx, tenant, form, { ...body, base_content: given })) };
  if (row) {
    // An older version of the service may have stored it in another form.
    const before = { base: row.base, ...(await storedForm(trx, tenant, form, row)) };
    if (!isDeepStrictEqual(next, before)) await updateDraft(trx, tenant, row, next, userId);
  } else if (!(await insertDraft(trx, tenant, of, next, userId))) {
    // Another editor has just saved the first one.
    requireRevision('none', await findDraft(trx, tenant, of));
  }
  return presentDraft(tenant, await findDraft(trx, tenant, of), forms);
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
  { ifMatch, forms }: Omit<PutDraft, 'body'>,
): Promise<Draft> {
  const row = await findDraft(trx, scope, of, { lock: true });
  if (row) requireRevision(ifMatch, row);
  const draft = presentDraft(scope, row, forms);
  await deleteDraftRow(trx, draft.id);
  return draft;
}
