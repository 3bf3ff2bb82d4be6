import { type AccountBound, requireWithinBound } from '../../platform/db/account-bound.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { DraftKind, PutDraftBody } from './schema.ts';

/** The resource that a draft belongs to. */
export interface DraftOf {
  kind: DraftKind;
  id: number;
}

/** A row of `drafts` with the name of the user who saved it last. */
export interface DraftSummaryRow {
  id: number;
  kind: DraftKind;
  resource_id: number;
  base: string;
  revision: number;
  updated_by_user_id: number | null;
  updated_by_name: string | null;
  created_at: Date;
  updated_at: Date;
}
export type DraftRow = DraftSummaryRow & {
  content: Record<string, unknown>;
  base_content: Record<string, unknown> | null;
  /** The user who changed the resource last; null if unknown. */
  resource_changed_by: { id: number; name: string } | null;
};

/** For each kind: the column of `drafts`, which resources can still be edited, and the operation that changes them. */
const kinds = {
  templates: { column: 'template_id', present: 'removed_at is null', operation: 'changeTemplate' },
  campaigns: { column: 'campaign_id', present: 'removed_at is null', operation: 'changeCampaign' },
  flows: { column: 'flow_id', present: `status <> 'archived'`, operation: 'changeFlow' },
  segments: { column: 'segment_id', present: 'true', operation: 'changeSegment' },
} as const satisfies Record<DraftKind, { column: string; present: string; operation: string }>;

const kindSql = `case ${Object.entries(kinds)
  .map(([kind, { column }]) => `when d.${column} is not null then '${kind}'`)
  .join(' ')} end`;

const USER_NAME = `coalesce(nullif(concat_ws(' ', nullif(u.first_name, ''), nullif(u.last_name, '')), ''), u.email)`;

const SUMMARY = `d.id, ${kindSql} as kind,
  coalesce(d.template_id, d.campaign_id, d.flow_id, d.segment_id) as resource_id,
  d.base, d.revision, d.updated_by_user_id, d.created_at, d.updated_at,
  (select ${USER_NAME} from users u where u.id = d.updated_by_user_id) as updated_by_name`;

/**
 * SQL: the user whose PATCH made the last change of the resource `r`. The audit log records these requests for users
 * only. If a program has changed the resource since, no entry is close enough to `updated_at`. The interval is needed
 * because the entry is written just before the change, by another clock.
 */
const changedBySql = (kind: DraftKind) => `
  (select json_build_object('id', u.id, 'name', ${USER_NAME})
   from audit_entries a join users u on a.actor_kind = 'user' and u.id = a.actor_id
   where a.account_id = r.account_id and a.action = '${kinds[kind].operation}' and a.resource_id = r.id::text
     and a.status = 200
     and r.updated_at between a.created_at - interval '5 seconds' and a.created_at + interval '1 minute'
   order by a.id desc limit 1) as resource_changed_by`;

const ofBrand = 'd.account_id = $1 and d.brand_id = $2';

/**
 * Returns whether the brand has the resource and it can be edited.
 * @param options.lock prevents its deletion until the transaction ends
 */
export async function hasResource(
  trx: Queryable,
  { accountId, brandId }: BrandScope,
  { kind, id }: DraftOf,
  { lock = false } = {},
): Promise<boolean> {
  const { rowCount } = await trx.query(
    `select 1 from ${kind} where account_id = $1 and brand_id = $2 and id = $3 and ${kinds[kind].present}
     ${lock ? 'for share' : ''}`,
    [accountId, brandId, id],
  );
  return rowCount === 1;
}

/**
 * @param options.lock prevents other changes of the draft until the transaction ends
 * @returns null if the resource has no draft
 */
export async function findDraft(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  { kind, id }: DraftOf,
  { lock = false } = {},
): Promise<DraftRow | null> {
  const { rows } = await db.query<DraftRow>(
    `select ${SUMMARY}, d.content, d.base_content, ${changedBySql(kind)}
     from drafts d join ${kind} r on r.id = d.${kinds[kind].column}
     where ${ofBrand} and d.${kinds[kind].column} = $3 ${lock ? 'for no key update of d' : ''}`,
    [accountId, brandId, id],
  );
  return rows[0] ?? null;
}

/** SQL: the revision of what is written. `sealed_revision` says that it contains no plain headers of webhook steps. */
const NEXT_REVISION = `with next as materialized (select nextval('draft_revisions') as revision)`;

const jsonOf = (value: object | null | undefined) => (value ? JSON.stringify(value) : null);

const BOUND: AccountBound = {
  ...{ table: 'drafts', where: 'true', columns: ['content', 'base_content'] },
  ...{ maxRows: 20_000, maxBytes: 1024 ** 3 },
};

/**
 * @returns false if the resource already has a draft
 * @throws AppError validation_error if the account has too many
 */
export async function insertDraft(
  trx: Queryable,
  scope: BrandScope,
  { kind, id }: DraftOf,
  { content, base, base_content: baseContent }: PutDraftBody,
  userId: number | null,
): Promise<boolean> {
  const { rowCount } = await trx.query(
    `${NEXT_REVISION}
     insert into drafts (
       account_id, brand_id, ${kinds[kind].column}, content, base, base_content, updated_by_user_id, revision, sealed_revision)
     select $1, $2, $3, $4, $5, $6, $7, revision, revision from next on conflict do nothing`,
    [scope.accountId, scope.brandId, id, JSON.stringify(content), base, jsonOf(baseContent), userId],
  );
  await requireWithinBound(trx, scope, BOUND, 'added');
  return rowCount === 1;
}

const sizeOf = (...contents: (object | null | undefined)[]) => JSON.stringify(contents).length;

/**
 * Changes a draft that the caller has locked.
 * @throws AppError validation_error if it grows, and the account's drafts are too large
 */
export async function updateDraft(
  trx: Queryable,
  scope: BrandScope,
  row: Pick<DraftRow, 'id' | 'content' | 'base_content'>,
  { content, base, base_content: baseContent }: PutDraftBody,
  userId: number | null,
): Promise<void> {
  await trx.query(
    `${NEXT_REVISION}
     update drafts set content = $2, base = $3, base_content = $4, updated_by_user_id = $5,
       revision = next.revision, sealed_revision = next.revision, updated_at = now() from next where id = $1`,
    [row.id, JSON.stringify(content), base, jsonOf(baseContent), userId],
  );
  const grows = sizeOf(content, baseContent) > sizeOf(row.content, row.base_content);
  if (grows) await requireWithinBound(trx, scope, BOUND, 'grown');
}

/** Deletes a draft that the caller has locked. */
export async function deleteDraftRow(trx: Queryable, draftId: number): Promise<void> {
  await trx.query('delete from drafts where id = $1', [draftId]);
}

/**
 * Deletes the drafts of resources that the caller deletes or archives. For campaigns and flows, this includes the
 * drafts of their contents.
 */
export async function removeDrafts(trx: Queryable, kind: DraftKind, ids: readonly number[]): Promise<void> {
  const { column } = kinds[kind];
  const owners = kind === 'campaigns' || kind === 'flows';
  await trx.query(
    `delete from drafts where ${column} = any($1)
     ${owners ? `or template_id in (select id from templates where ${column} = any($1))` : ''}`,
    [ids],
  );
}

/** Finds drafts without their contents, newest first. */
export async function findDrafts(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  kind: DraftKind | undefined,
  page: Page,
): Promise<{ rows: DraftSummaryRow[]; count: RowCount }> {
  const source = `drafts d where ${ofBrand}${kind ? ` and d.${kinds[kind].column} is not null` : ''}`;
  const below = page.after === null ? '' : `and d.id < ${page.after}`;
  const [{ rows }, count] = await Promise.all([
    db.query<DraftSummaryRow>(
      `select ${SUMMARY} from ${source} ${below} order by d.id desc limit ${page.limit} offset ${page.offset}`,
      [accountId, brandId],
    ),
    countRows(db, source, [accountId, brandId]),
  ]);
  return { rows, count };
}
