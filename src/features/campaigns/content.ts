/** The templates of a campaign: its own, and those of the variants of an A/B test. */
import { invalid, type Problems, validationErrorsOf } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { removeDrafts } from '../drafts/service.ts';
import {
  copyTemplate,
  findListedTemplates,
  findTemplateRows,
  listedBytesSql,
  presentTemplate,
  presentTemplateSummary,
  writeOwnTemplate,
} from '../templates/service.ts';
import type { Template, TemplateAttributes, TemplateSummary } from '../templates/schema.ts';
import type { CampaignRow } from './model.ts';
import type { CampaignOptions } from './options.ts';

type Variants = NonNullable<CampaignOptions['ab']>['variants'];

export function variantsOf({ options }: Pick<CampaignRow, 'options'>): Variants {
  return options.ab?.variants ?? [];
}

/** Prefixes the fields of validation errors with `template_attributes`. */
async function prefixed<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const errors = validationErrorsOf(error);
    if (errors === null) throw error;
    const named = Object.entries(errors).map(([field, messages]) => [
      field.startsWith('template_attributes.') ? field : `template_attributes.${field}`,
      messages,
    ]);
    throw invalid(Object.fromEntries(named) as Record<string, string[]>);
  }
}

/**
 * Writes the content of a campaign into its template, which is created if it has none.
 * @returns the template's id
 * @throws AppError validation_error
 */
export function writeContent(
  trx: Queryable,
  scope: BrandScope,
  row: Pick<CampaignRow, 'id' | 'channel' | 'template_id'>,
  attributes: TemplateAttributes,
): Promise<number> {
  const owner = { campaignId: row.id };
  const { template_id: copyOf, ...content } = attributes;
  return prefixed(async () => {
    let templateId = row.template_id;
    if (copyOf !== undefined) {
      const copy = await copyTemplate(trx, scope, copyOf, owner, {
        field: 'template_attributes.template_id',
        channel: row.channel,
      });
      if (templateId !== null) await hideTemplates(trx, row.id, [templateId]);
      templateId = copy.id;
      if (Object.keys(content).length === 0) return templateId;
    }
    return (await writeOwnTemplate(trx, scope, owner, row.channel, content, templateId)).id;
  });
}

/** Hides templates of a campaign that have been replaced. Their versions stay. */
export async function hideTemplates(
  trx: Queryable,
  campaignId: number,
  ids: readonly number[],
): Promise<void> {
  await trx.query(
    'update templates set removed_at = now() where campaign_id = $1 and id = any($2) and removed_at is null',
    [campaignId, ids],
  );
  await removeDrafts(trx, 'templates', ids);
}

/**
 * Creates the templates of the variants of an A/B test: copies of the templates that they name, or copies of the
 * campaign's own with their subjects. If a named template has been deleted since the send, its copy stays.
 * @returns the templates' ids by variant; empty without variants
 */
export async function writeVariants(trx: Queryable, scope: BrandScope, row: CampaignRow): Promise<number[]> {
  const owner = { campaignId: row.id };
  const gone = new Set(await foreignTemplates(trx, scope, row));
  await hideTemplates(
    trx,
    row.id,
    row.variant_template_ids.filter((id, index) => id !== row.template_id && !gone.has(index)),
  );
  const ids: number[] = [];
  for (const [index, { subject, template_id: templateId }] of variantsOf(row).entries()) {
    const kept = gone.has(index) ? copiesOf(row)[index] : undefined;
    if (kept !== undefined) ids.push(kept);
    else if (templateId !== undefined) ids.push((await copyTemplate(trx, scope, templateId, owner)).id);
    else {
      const copy = await copyTemplate(trx, scope, row.template_id ?? 0, owner);
      ids.push((await writeOwnTemplate(trx, scope, owner, row.channel, { subject }, copy.id)).id);
    }
  }
  return ids;
}

/**
 * Returns the indexes of variants that name a template that the brand does not have, or that is for another channel.
 */
async function foreignTemplates(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  row: Pick<CampaignRow, 'channel' | 'options'>,
): Promise<number[]> {
  const named = variantsOf(row).map(({ template_id: id }) => id ?? null);
  const ids = named.filter((id) => id !== null);
  if (ids.length === 0) return [];
  // Templates owned by a campaign or flow do not count, because they are removed when the owner replaces them.
  const { rows } = await db.query<{ id: number }>(
    `select id from templates
     where account_id = $1 and brand_id = $2 and id = any($3) and channel = $4 and removed_at is null
       and campaign_id is null and flow_id is null`,
    [accountId, brandId, ids, row.channel],
  );
  const known = new Set(rows.map(({ id }) => id));
  return named.flatMap((id, index) => (id === null || known.has(id) ? [] : [index]));
}

/** Returns the template copies of the variants of a campaign with recipients. Other campaigns have none. */
const copiesOf = ({ phase, variant_template_ids: ids }: CampaignRow): number[] =>
  phase === 'draft' || phase === 'waiting' ? [] : ids;

/** Adds an error for each variant of {@link foreignTemplates} that has no copy. @returns whether there is one */
export async function addForeignTemplates(
  db: Queryable,
  scope: BrandScope,
  row: CampaignRow,
  problems: Problems,
): Promise<boolean> {
  const copies = copiesOf(row);
  const foreign = (await foreignTemplates(db, scope, row)).filter((index) => copies[index] === undefined);
  for (const index of foreign) {
    const message = `is not the id of a template of this brand for ${row.channel}`;
    problems.add({ [`data.options.ab.variants.${index}.template_id`]: [message] });
  }
  return foreign.length > 0;
}

type Contents = Pick<
  CampaignRow,
  'id' | 'account_id' | 'brand_id' | 'options' | 'template_id' | 'variant_template_ids'
>;

/** Returns the ids of all templates of a campaign. */
function templateIdsOf(row: Contents): number[] {
  const named = variantsOf(row).flatMap(({ template_id: id }) => id ?? []);
  return [...(row.template_id === null ? [] : [row.template_id]), ...named, ...row.variant_template_ids];
}

/** Returns `template` and `templates` as clients see them. @param found by id */
function contentOf<T extends TemplateSummary>(
  row: Contents,
  found: ReadonlyMap<number, T>,
): { template: T; templates: T[] } {
  const variants = variantsOf(row);
  const template = found.get(row.template_id ?? 0);
  if (!template) throw new Error(`campaign ${row.id} has no template`);
  if (variants.length === 0) return { template, templates: [template] };
  const templates = variants.flatMap(({ subject, template_id: id }, index) => {
    const stored = found.get(row.variant_template_ids[index] ?? id ?? 0);
    if (stored) return [stored];
    return id === undefined ? [{ ...template, subject: subject ?? null }] : [];
  });
  return { template, templates };
}

/** The content of a campaign, as clients see it. */
export async function presentContent(
  db: Queryable,
  row: Contents,
): Promise<{ template: Template; templates: Template[] }> {
  const found = await findTemplateRows(db, scopeOf(row), templateIdsOf(row));
  return contentOf(row, new Map(found.map((template) => [template.id, presentTemplate(template)])));
}

/**
 * Sizes the contents of campaigns as {@link presentContents} returns them.
 * @returns approximate bytes, in the campaigns' order
 */
export async function contentSizes(
  db: Queryable,
  rows: readonly Contents[],
  summary: boolean,
): Promise<number[]> {
  const { rows: sizes } = await db.query<{ id: number; bytes: number }>(
    `select t.id, ${listedBytesSql(summary ? 0 : 1)} as bytes from templates t where t.id = any($1)`,
    [rows.flatMap(templateIdsOf)],
  );
  const bytesOf = new Map(sizes.map(({ id, bytes }) => [id, bytes]));
  return rows.map((row) => {
    // The response contains it as `template`, and again in `templates` for the campaign or each variant without its
    // own.
    const own = (bytesOf.get(row.template_id ?? 0) ?? 0) * (1 + variantsOf(row).length);
    return templateIdsOf(row).reduce((sum, id) => sum + (bytesOf.get(id) ?? 0), own);
  });
}

/**
 * The contents of campaigns of one brand for a list, without designs.
 * @param summary whether bodies are left out as well
 * @returns in the order of the campaigns
 */
export async function presentContents(
  db: Queryable,
  rows: readonly Contents[],
  summary: boolean,
): Promise<{ template: TemplateSummary; templates: TemplateSummary[] }[]> {
  const [first] = rows;
  if (!first) return [];
  const found = await findListedTemplates(db, scopeOf(first), rows.flatMap(templateIdsOf), summary);
  const shown = new Map(found.map((template) => [template.id, presentTemplateSummary(template)]));
  return rows.map((row) => contentOf(row, shown));
}

const scopeOf = ({ account_id: accountId, brand_id: brandId }: Contents): BrandScope => ({
  accountId,
  brandId,
});
