import { fn, type ModelObject, raw } from 'objection';
import type { Design } from '../../delivery/content/templates/design.ts';
import type { Channel } from '../../delivery/terms/message.ts';
import { requireWithinBound } from '../../platform/db/account-bound.ts';
import { type BrandScope, TenantModel } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { changedValues, RAISE_REVISION, raisedRevision } from '../../platform/db/revisions.ts';
import { TEMPLATES_BOUND } from './bound.ts';

export class TemplateModel extends TenantModel {
  static override readonly tableName = 'templates';
  static override readonly jsonColumns = ['design', 'variables'];
  static override readonly columns = [
    'id',
    'account_id',
    'brand_id',
    'channel',
    'campaign_id',
    'flow_id',
    'action_id',
    'name',
    'subject',
    'preheader',
    'body',
    'design',
    'content_from',
    'from_name',
    'from_email',
    'reply_to',
    'variables',
    'version_id',
    'by_test_key',
    'revision',
    'created_at',
    'updated_at',
  ];
  declare account_id: number;
  declare brand_id: number;
  declare channel: Channel;
  declare campaign_id: number | null;
  declare flow_id: number | null;
  declare action_id: number | null;
  declare name: string | null;
  declare subject: string | null;
  declare preheader: string | null;
  declare body: string | null;
  declare design: Design | null;
  declare content_from: 'body' | 'design';
  declare from_name: string | null;
  declare from_email: string | null;
  declare reply_to: string | null;
  declare variables: Record<string, unknown>;
  declare version_id: number | null;
  declare by_test_key: boolean;
  declare revision: number;
  declare removed_at: Date | null;
  declare created_at: Date;
  declare updated_at: Date;
}
/** A row of `templates`. */
export type TemplateRow = Omit<ModelObject<TemplateModel>, 'removed_at'>;

/** The columns that a writer sets. */
export type TemplateValues = Pick<
  TemplateRow,
  | 'name'
  | 'subject'
  | 'preheader'
  | 'body'
  | 'design'
  | 'content_from'
  | 'from_name'
  | 'from_email'
  | 'reply_to'
  | 'variables'
>;

/** The campaign or flow step whose content a template is. All null: a template of the brand. */
export type OwnerColumns = Pick<TemplateRow, 'campaign_id' | 'flow_id' | 'action_id'>;

/** @throws AppError validation_error if the account has too many */
export async function insertTemplate(
  trx: Queryable,
  scope: BrandScope,
  owner: OwnerColumns,
  values: TemplateValues & Pick<TemplateRow, 'channel'> & Partial<Pick<TemplateRow, 'by_test_key'>>,
): Promise<TemplateRow> {
  const { accountId: account_id, brandId: brand_id } = scope;
  const row = await TemplateModel.on(trx)
    .insert({ account_id, brand_id, ...owner, ...values })
    .returning(TemplateModel.columns);
  await requireWithinBound(trx, scope, TEMPLATES_BOUND, 'added', row.id);
  return row;
}

/** @returns null if the brand has no such template */
export async function findTemplate(
  db: Queryable,
  scope: BrandScope,
  id: number,
): Promise<TemplateRow | null> {
  const [row] = await TemplateModel.ofBrand(db, scope)
    .where('id', id)
    .whereNull('removed_at')
    .select(TemplateModel.columns);
  return row ?? null;
}

/** Finds and locks a template. */
export async function lockTemplate(
  trx: Queryable,
  scope: BrandScope,
  id: number,
): Promise<TemplateRow | null> {
  const [row] = await TemplateModel.ofBrand(trx, scope)
    .where('id', id)
    .whereNull('removed_at')
    .select(TemplateModel.columns)
    .forNoKeyUpdate();
  return row ?? null;
}

/** Finds and locks the first template of an owner. @returns null if the owner has none */
export async function lockOwnTemplate(
  trx: Queryable,
  scope: BrandScope,
  owner: OwnerColumns,
): Promise<TemplateRow | null> {
  const [row] = await TemplateModel.ofBrand(trx, scope)
    .where(owner)
    .whereNull('removed_at')
    .orderBy('id')
    .limit(1)
    .select(TemplateModel.columns)
    .forNoKeyUpdate();
  return row ?? null;
}

/** The size of those parts of a template that may be large. */
const sizeOf = ({ body, design, variables }: Pick<TemplateRow, 'body' | 'design' | 'variables'>) =>
  JSON.stringify([body, design, variables]).length;

/**
 * Changes a locked template of the brand, unless the values are its own. Its content has no version until it is
 * compiled again. The revision of the campaign or flow that owns it is raised, too: lock the owner before the template.
 * @throws AppError validation_error if the template grows, and the account's are too large
 */
export async function updateTemplate(
  trx: Queryable,
  scope: BrandScope,
  row: TemplateRow,
  values: TemplateValues,
): Promise<TemplateRow> {
  const changes = changedValues(row, values);
  if (!changes) return row;
  const [changed] = await TemplateModel.ofBrand(trx, scope)
    .where('id', row.id)
    .patch({ ...changes, ...raisedRevision(), version_id: null, updated_at: fn.now() })
    .returning(TemplateModel.columns);
  const owners = { campaigns: row.campaign_id, flows: row.flow_id };
  for (const [table, id] of Object.entries(owners)) {
    if (id === null) continue;
    await trx.query(`update ${table} set ${RAISE_REVISION}, updated_at = now() where id = $1`, [id]);
  }
  const result = changed as TemplateRow;
  if (sizeOf(result) > sizeOf(row)) await requireWithinBound(trx, scope, TEMPLATES_BOUND, 'grown', row.id);
  return result;
}

/** Finds the template of a flow's step. @returns null if there is none */
export async function findStepTemplateId(
  db: Queryable,
  scope: BrandScope,
  flowId: number,
  stepId: number,
): Promise<number | null> {
  const [row] = await TemplateModel.ofBrand(db, scope)
    .where({ flow_id: flowId, action_id: stepId })
    .whereNull('removed_at')
    .orderBy('id')
    .limit(1)
    .select('id');
  return row?.id ?? null;
}

/** Hides a template. Its versions stay for the messages that were made from them. */
export async function hideTemplate(trx: Queryable, scope: BrandScope, id: number): Promise<void> {
  await TemplateModel.ofBrand(trx, scope).where('id', id).patch({ removed_at: fn.now() });
}

/** Stores the version and variables of a compiled template, unless it was changed since it was read. */
export async function keepCompiled(
  db: Queryable,
  row: Pick<TemplateRow, 'id' | 'updated_at'>,
  versionId: number,
  variables: Record<string, unknown>,
): Promise<void> {
  await TemplateModel.on(db)
    .where('id', row.id)
    // The row in memory has no microseconds.
    .where(raw(`date_trunc('milliseconds', updated_at)`), row.updated_at)
    .patch({ version_id: versionId, variables });
}

/**
 * Finds the status of a campaign, and locks the campaign until the transaction ends.
 * @returns null if it was deleted
 */
export async function lockCampaignStatus(trx: Queryable, campaignId: number): Promise<string | null> {
  const { rows } = await trx.query<{ status: string }>(
    'select status from campaigns where id = $1 and removed_at is null for no key update',
    [campaignId],
  );
  return rows[0]?.status ?? null;
}

/** Locks a flow until the transaction ends, without waiting for what it sends. */
export async function lockFlowRow(trx: Queryable, flowId: number): Promise<void> {
  await trx.query('select 1 from flows where id = $1 for no key update', [flowId]);
}

/** A template in a list: without its design, and in summaries without its body. */
export type ListedTemplateRow = Omit<TemplateRow, 'design' | 'body'> & { body?: string | null };

const columnsWithout = (...omitted: string[]) =>
  TemplateModel.columns.filter((name) => !omitted.includes(name)).join(', ');
const LISTED_COLUMNS = columnsWithout('design');
const SUMMARY_COLUMNS = columnsWithout('design', 'body');

/** SQL: approximate bytes of `t`, a row of `templates`, in a list. @param bodies how often its body is shown there */
export const listedBytesSql = (bodies: number): string =>
  `(octet_length(t.variables::text) + 1000 + ${bodies} * coalesce(octet_length(t.body), 0))`;

/** Finds templates of a brand by id, including deleted ones: campaigns and flows show what they sent. */
export async function findTemplateRows(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  ids: readonly number[],
): Promise<TemplateRow[]> {
  const { rows } = await db.query<TemplateRow>(
    `select ${TemplateModel.columns.join(', ')} from templates
     where account_id = $1 and brand_id = $2 and id = any($3)`,
    [accountId, brandId, ids],
  );
  return rows;
}

/**
 * Like {@link findTemplateRows}, without designs.
 * @param summary whether to leave out bodies, too
 * @returns newest first
 */
export async function findListedTemplates(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  ids: readonly number[],
  summary: boolean,
): Promise<ListedTemplateRow[]> {
  const { rows } = await db.query<ListedTemplateRow>(
    `select ${summary ? SUMMARY_COLUMNS : LISTED_COLUMNS} from templates
     where account_id = $1 and brand_id = $2 and id = any($3) order by id desc`,
    [accountId, brandId, ids],
  );
  return rows;
}
