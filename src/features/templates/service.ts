import type pg from 'pg';
import type { Channel } from '../../delivery/terms/message.ts';
import { AppError, type CheckProblem, notFound } from '../../errors.ts';
import { isTestCaller, type Tenant } from '../../platform/auth/tenant.ts';
import { refuseTestKey, requireDraftOfTestKey } from '../../platform/auth/test-keys.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Page, RowCount } from '../../platform/db/paging.ts';
import { inPreparedTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { type IfMatch, requireRevision } from '../../platform/db/revisions.ts';
import { removeDrafts } from '../drafts/service.ts';
import type { Brand } from '../brands/schema.ts';
import { fromEngine, requireNoMistakes } from './compile.ts';
import { type CompiledContents, createCompiledContents } from './compiled.ts';
import {
  findListedTemplates,
  findTemplate,
  hideTemplate,
  insertTemplate,
  lockCampaignStatus,
  lockFlowRow,
  lockTemplate,
  type OwnerColumns,
  type TemplateRow,
  type TemplateValues,
  updateTemplate,
} from './model.ts';
import { findVersions } from './template-versions.ts';
import { sourceOf, type TemplateDeps } from './pin.ts';
import { asWarnings, withoutErrors } from './send-checks.ts';
import { presentSummary, presentTemplate, presentVersion } from './presenter.ts';
import { namesWithSample, withSamples } from './samples.ts';
import type {
  ChangeTemplateBody,
  CreateTemplateBody,
  Template,
  TemplateSummary,
  TemplateVersion,
} from './schema.ts';
import { applyContent, changesContent, copyTemplate, NO_OWNER } from './write.ts';

export { type BrandOf, brandValues, createBrandOf } from './brand-parts.ts';
export { errorsOf, fromEngine } from './compile.ts';
export { type CompiledContents, createCompiledContents };
export { type Pinned, pinVersion, sourceOf, type TemplateDeps } from './pin.ts';
export { createMessageContents, type RenderForMessage, type TemplateMessage } from './message-content.ts';
export { presentSummary as presentTemplateSummary, presentTemplate } from './presenter.ts';
export {
  findListedTemplates,
  findStepTemplateId,
  findTemplateRows,
  listedBytesSql,
  type ListedTemplateRow,
} from './model.ts';
export { findTemplates } from './template-list.ts';
export { DEAD_LINKS } from './values.ts';
export { renderUnsaved } from './unsaved.ts';
export { pageOf } from './preview.ts';
export { renderTemplate, type RenderDeps, type Shown } from './render.ts';
export { addContentProblems, addFooterProblems } from './send-checks.ts';
export { senderOfTemplate } from './sender.ts';
export {
  applyContent,
  copiedName,
  copyTemplate,
  replaceContent,
  sourceContent,
  writeOwnTemplate,
} from './write.ts';
export type { TemplateRow, TemplateValues };

/**
 * Requires that a campaign is a draft. The caller has locked it, so it is not sent until the transaction ends.
 * @throws AppError test_key or invalid_transition if it was sent
 */
function requireDraft(tenant: Tenant, campaignId: number, status: string | null): void {
  requireDraftOfTestKey(tenant, status ?? undefined, 'contents of campaigns');
  if (status === null || status === 'draft') return;
  const message = `campaign ${campaignId} was sent; change its content with PATCH /campaigns/${campaignId}`;
  throw new AppError('invalid_transition', message);
}

/** Maximum number of tries to change a template that other requests change, too. */
const MAX_TRIES = 3;

/** Presents templates of a list, newest first, without their designs. */
export async function presentTemplates(
  db: Queryable,
  scope: BrandScope,
  ids: readonly number[],
  summary: boolean,
): Promise<TemplateSummary[]> {
  return (await findListedTemplates(db, scope, ids, summary)).map(presentSummary);
}

async function requireTemplate(db: Queryable, scope: BrandScope, id: number): Promise<TemplateRow> {
  const row = await findTemplate(db, scope, id);
  if (!row) throw notFound('template');
  return row;
}

/** @throws AppError not_found */
export async function getTemplate(db: Queryable, scope: BrandScope, id: number): Promise<Template> {
  return presentTemplate(await requireTemplate(db, scope, id));
}

/**
 * Compiles a template as changed by a request, and completes the names of its variables.
 * @throws AppError validation_error that names the field and the line of each mistake; unavailable
 */
async function withNames(
  { contents, brandOf }: TemplateDeps,
  scope: BrandScope,
  row: TemplateValues & OwnerColumns & { channel: Channel },
): Promise<TemplateValues> {
  const source = sourceOf(row, await brandOf(scope));
  const { content, problems } = await fromEngine(contents.compile(source, scope.accountId));
  requireNoMistakes(problems);
  return { ...row, variables: withSamples(content?.variables ?? [], row.variables) };
}

/**
 * Checks and completes the content of a new template. Call it outside of transactions.
 * @throws AppError validation_error, unavailable
 */
export async function prepareTemplate(
  deps: TemplateDeps,
  scope: BrandScope,
  { channel, ...content }: CreateTemplateBody,
): Promise<TemplateValues & { channel: Channel }> {
  const values = applyContent(null, channel, content);
  const { variables } = await withNames(deps, scope, { ...values, ...NO_OWNER, channel });
  return { ...values, variables, channel };
}

export async function createTemplate(
  trx: Queryable,
  tenant: Tenant,
  prepared: TemplateValues & { channel: Channel },
): Promise<Template> {
  const by_test_key = isTestCaller(tenant.actor);
  return presentTemplate(await insertTemplate(trx, tenant, NO_OWNER, { ...prepared, by_test_key }));
}

/**
 * Requires that a test key may change the template. Live messages may use any template of the brand that test keys have
 * not created.
 * @throws AppError test_key
 */
function requireChangeable(tenant: Tenant, { campaign_id, flow_id, by_test_key }: TemplateRow): void {
  if (by_test_key || campaign_id !== null || flow_id !== null) return;
  refuseTestKey(tenant, 'change a template that a test key has not created');
}

/** Owners of templates, which pin them again when their content changes. */
export interface TemplateOwners {
  /**
   * Changes the content of a flow's step: locks the flow, makes the change, and pins it if the flow is active or
   * paused.
   * @param change returns null if another request has changed the template meanwhile
   */
  changeOfFlow(
    trx: pg.PoolClient,
    tenant: Tenant,
    flowId: number,
    outside: { brand: Brand; compiled: CompiledContents },
    change: () => Promise<TemplateRow | null>,
  ): Promise<TemplateRow | null>;
}

/**
 * Changes a template. The content of a sent campaign can only be changed through its campaign, which pins it again. The
 * content of a flow is pinned together with the change. Test keys may change only templates that test keys have
 * created, and the content of drafts.
 * @throws AppError not_found; test_key; precondition_failed; validation_error that names the field and the line of a mistake;
 *   invalid_transition for the content of a sent campaign; conflict if other requests keep changing it at the same time
 */
export async function changeTemplate(
  deps: TemplateDeps,
  owners: TemplateOwners,
  tenant: Tenant,
  id: number,
  body: ChangeTemplateBody,
  ifMatch: IfMatch,
): Promise<Template> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const before = await requireTemplate(deps.pool, tenant, id);
    requireChangeable(tenant, before);
    const after = applyContent(before, before.channel, body);
    const { variables } = await withNames(deps, tenant, { ...before, ...after });
    // A test key must not change anything live, not even samples.
    const changesOwner = changesContent(before, after) || isTestCaller(tenant.actor);
    const change = async (trx: Queryable) => {
      const locked = await lockTemplate(trx, tenant, id);
      if (!locked) throw notFound('template');
      requireRevision(ifMatch, locked);
      if (locked.updated_at.getTime() !== before.updated_at.getTime()) return null;
      return updateTemplate(trx, tenant, locked, { ...after, variables });
    };
    const { flow_id: flowId, campaign_id: campaignId } = before;
    const brand = flowId !== null && changesOwner ? await deps.brandOf(tenant) : null;
    const compiled = createCompiledContents(deps.contents);
    const row = await inPreparedTransaction(deps.pool, async (trx) => {
      if (campaignId !== null) {
        const status = await lockCampaignStatus(trx, campaignId);
        if (changesOwner) requireDraft(tenant, campaignId, status);
      }
      if (flowId === null) return change(trx);
      if (!brand) {
        await lockFlowRow(trx, flowId);
        return change(trx);
      }
      return owners.changeOfFlow(trx, tenant, flowId, { brand, compiled }, () => change(trx));
    });
    if (row) return presentTemplate(row);
  }
  throw new AppError('conflict', 'other requests are changing the template; try again');
}

/**
 * Copies a template of the brand, a campaign or a flow. The copy is a template of the brand.
 * @throws AppError not_found
 */
export async function duplicateTemplate(
  trx: Queryable,
  scope: BrandScope,
  id: number,
  name: string | null | undefined,
): Promise<Template> {
  const source = await requireTemplate(trx, scope, id);
  const row = await copyTemplate(trx, scope, id, null, {
    name: name ?? (source.name === null ? null : `Copy of ${source.name}`.slice(0, 255)),
  });
  return presentTemplate(row);
}

/**
 * Deletes a template. Messages that were made from it do not change.
 * @param trx the caller's transaction
 * @returns the template as it was
 * @throws AppError not_found; precondition_failed; conflict for the content of a campaign or flow
 */
export async function deleteTemplate(
  trx: Queryable,
  scope: BrandScope,
  id: number,
  ifMatch: IfMatch,
): Promise<Template> {
  const row = await lockTemplate(trx, scope, id);
  if (!row) throw notFound('template');
  requireRevision(ifMatch, row);
  if (row.campaign_id !== null || row.flow_id !== null) {
    const owner = row.campaign_id === null ? `flow ${row.flow_id}` : `campaign ${row.campaign_id}`;
    throw new AppError('conflict', `the template is the content of ${owner}`);
  }
  await hideTemplate(trx, scope, id);
  await removeDrafts(trx, 'templates', [id]);
  return presentTemplate(row);
}

/** Lists the versions of a template, newest first. @throws AppError not_found */
export async function listVersions(
  db: Queryable,
  scope: BrandScope,
  id: number,
  page: Page,
): Promise<{ versions: TemplateVersion[]; count: RowCount }> {
  await requireTemplate(db, scope, id);
  const { rows, count } = await findVersions(db, id, page);
  return { versions: rows.map(presentVersion), count };
}

/**
 * Finds the problems of a template, and what could be better.
 * @throws AppError not_found, unavailable
 */
export async function checkTemplate(
  deps: TemplateDeps,
  scope: BrandScope,
  id: number,
): Promise<CheckProblem[]> {
  const [row, brand] = await Promise.all([requireTemplate(deps.pool, scope, id), deps.brandOf(scope)]);
  const source = sourceOf(row, brand);
  const [{ problems: errors }, found] = await fromEngine(
    Promise.all([
      deps.contents.compile(source, scope.accountId),
      deps.contents.check(source, namesWithSample(row.variables), scope.accountId),
    ]),
  );
  const asErrors = errors.map((error) => ({ ...error, severity: 'error' as const }));
  return [...asErrors, ...asWarnings(withoutErrors(found, errors))];
}
