import { type VersionRow, VERSION_COLUMNS } from '../../delivery/content/templates/versions.ts';
import { type Page, type RowCount, countRows } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/**
 * Finds the version of a content. The caller is going to name it, so it is no longer marked for removal.
 * @returns null if there is no version of this content yet
 */
export async function findVersionOf(
  db: Queryable,
  templateId: number,
  contentHash: Buffer,
): Promise<VersionRow | null> {
  const { rows } = await db.query<VersionRow & { unnamed: boolean }>({
    name: 'version_of_content',
    text: `select ${VERSION_COLUMNS}, unnamed_at is not null as unnamed from template_versions
      where template_id = $1 and content_hash = $2`,
    values: [templateId, contentHash],
  });
  const [found] = rows;
  if (!found) return null;
  const { unnamed, ...version } = found;
  if (!unnamed) return version;
  const { rowCount } = await db.query('update template_versions set unnamed_at = null where id = $1', [
    version.id,
  ]);
  return rowCount === 1 ? version : null;
}

/** Inserts a version, unless another process has just inserted it. @returns the stored version */
export async function keepVersion(
  db: Queryable,
  version: Omit<VersionRow, 'id'>,
  contentHash: Buffer,
): Promise<VersionRow> {
  const { rows } = await db.query<VersionRow>(
    `insert into template_versions (template_id, account_id, brand_id, channel, content_hash, subject, preheader, html,
       text, paths, segments, from_name, from_email, reply_to)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
     on conflict (template_id, content_hash) do nothing returning ${VERSION_COLUMNS}`,
    [
      version.template_id,
      version.account_id,
      version.brand_id,
      version.channel,
      contentHash,
      version.subject,
      version.preheader,
      version.html,
      version.text,
      version.paths,
      version.segments,
      version.from_name,
      version.from_email,
      version.reply_to,
    ],
  );
  return rows[0] ?? ((await findVersionOf(db, version.template_id, contentHash)) as VersionRow);
}

const VERSION_LIST_COLUMNS = [
  'id',
  'template_id',
  'channel',
  'subject',
  'preheader',
  'segments',
  'from_name',
  'from_email',
  'reply_to',
  'created_at',
] as const;

/** A version in a list. */
export type ListedVersion = Pick<VersionRow & { created_at: Date }, (typeof VERSION_LIST_COLUMNS)[number]>;

/** Finds versions, newest first, without HTML and text: 200 of them may have hundreds of megabytes. */
export async function findVersions(
  db: Queryable,
  templateId: number,
  page: Page,
): Promise<{ rows: ListedVersion[]; count: RowCount }> {
  const below = page.after === null ? '' : `and v.id < ${page.after}`;
  const source = 'template_versions v where v.template_id = $1';
  const [{ rows }, count] = await Promise.all([
    db.query<ListedVersion>(
      `select ${VERSION_LIST_COLUMNS.join(', ')} from ${source} ${below}
       order by v.id desc limit ${page.limit} offset ${page.offset}`,
      [templateId],
    ),
    countRows(db, source, [templateId]),
  ]);
  return { rows, count };
}
