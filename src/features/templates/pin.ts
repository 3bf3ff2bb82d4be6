import type pg from 'pg';
import type {
  ContentEngine,
  ContentSource,
  Problem,
  VersionContent,
} from '../../delivery/content/templates/content.ts';
import { versionContent } from '../../delivery/content/templates/versions.ts';
import { notFound } from '../../errors.ts';
import { fingerprintOf } from '../../platform/db/idempotency.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Brand } from '../brands/schema.ts';
import type { BrandOf } from './brand-parts.ts';
import { findTemplate, keepCompiled, type TemplateRow } from './model.ts';
import { findVersionOf, keepVersion } from './template-versions.ts';
import { withSamples } from './samples.ts';

/** Raise this when the same content compiles to a different result, so that new versions are made. */
const COMPILER_VERSION = 2;

/** What identifies a version among those of its template. */
export function versionHash(
  { from_name, from_email, reply_to }: Pick<TemplateRow, 'from_name' | 'from_email' | 'reply_to'>,
  source: ContentSource,
  compiler = COMPILER_VERSION,
): Buffer {
  return fingerprintOf({ compiler, source, from_name, from_email, reply_to });
}

/** Finds a version of the same content that an earlier compiler accepted, so that an upgrade stops no mail. */
async function findEarlier(pool: Queryable, row: TemplateRow, source: ContentSource) {
  for (let compiler = COMPILER_VERSION - 1; compiler > 0; compiler -= 1) {
    const known = await findVersionOf(pool, row.id, versionHash(row, source, compiler));
    if (known) return known;
  }
  return null;
}

export interface TemplateDeps {
  pool: pg.Pool;
  contents: ContentEngine;
  brandOf: BrandOf;
}

/** What pinning needs. Inside a transaction, `compile` must not wait. */
export interface PinDeps {
  pool: Queryable;
  contents: Pick<ContentEngine, 'compile'>;
  brandOf: BrandOf;
}

/** A compiled template, or the problems that prevent compiling it. */
export type Pinned =
  | { versionId: number; version: VersionContent; problems: Problem[] }
  | { versionId: null; version: null; problems: Problem[] };

type Written = Pick<
  TemplateRow,
  'channel' | 'subject' | 'preheader' | 'body' | 'design' | 'content_from' | 'campaign_id' | 'flow_id'
>;

/** The footer of a template: that of campaigns and flows, or none for transactional mail. */
export function footerOf({ campaign_id, flow_id }: Pick<Written, 'campaign_id' | 'flow_id'>) {
  return campaign_id === null && flow_id === null ? 'none' : 'marketing';
}

/** Returns the source from which a template is compiled. */
export function sourceOf(
  row: Written,
  brand: Brand,
  footer: ContentSource['footer'] = footerOf(row),
): ContentSource {
  const { channel, subject, preheader, body, design, content_from: contentFrom } = row;
  return {
    channel,
    subject,
    preheader,
    body: contentFrom === 'body' ? body : null,
    design: contentFrom === 'design' ? design : null,
    contentFrom,
    footer,
    brand: {
      company_name: brand.company_name,
      physical_address: brand.physical_address,
      logo: brand.logo,
      brand_color: brand.brand_color,
      text_color: brand.text_color,
      bg_color: brand.bg_color,
      font_heading: brand.font_heading,
      font_body: brand.font_body,
      links: brand.links,
      default_header: brand.default_header,
      default_footer: brand.default_footer,
      default_theme: brand.default_theme,
      sms_stop_text: brand.sms_stop_text,
    },
  };
}

/** Compiles a template, unless this content already has a version. */
async function pinRow({ pool, contents }: PinDeps, row: TemplateRow, source: ContentSource): Promise<Pinned> {
  const { from_name, from_email, reply_to } = row;
  const hash = versionHash(row, source);
  const known = await findVersionOf(pool, row.id, hash);
  if (known) return { versionId: known.id, version: versionContent(known), problems: [] };
  const { content, problems } = await contents.compile(source, row.account_id);
  if (!content) {
    const earlier = await findEarlier(pool, row, source);
    if (earlier) return { versionId: earlier.id, version: versionContent(earlier), problems: [] };
    return { versionId: null, version: null, problems };
  }
  const version = await keepVersion(
    pool,
    {
      template_id: row.id,
      account_id: row.account_id,
      brand_id: row.brand_id,
      channel: row.channel,
      subject: content.subject,
      preheader: content.preheader,
      html: content.html,
      text: content.text,
      paths: [...content.paths],
      segments: content.segments,
      from_name,
      from_email,
      reply_to,
    },
    hash,
  );
  await keepCompiled(pool, row, version.id, withSamples(content.variables, row.variables));
  return { versionId: version.id, version: versionContent(version), problems };
}

/**
 * Pins the present content of a template: compiles it with its brand's parts, and stores a version unless one exists.
 * Later changes of the template or the brand make other versions. Call it outside of transactions: compiling takes
 * milliseconds to seconds.
 * @param options.footer by default that of campaigns and flows for their templates, and none for all others
 * @returns no version if the content cannot be compiled; the problems then say why
 * @throws AppError not_found if the brand has no such template; ContentEngineUnavailableError
 */
export async function pinVersion(
  deps: PinDeps,
  scope: BrandScope,
  templateId: number,
  { footer }: { footer?: ContentSource['footer'] } = {},
): Promise<Pinned> {
  const [row, brand] = await Promise.all([findTemplate(deps.pool, scope, templateId), deps.brandOf(scope)]);
  if (!row) throw notFound('template');
  return pinRow(deps, row, sourceOf(row, brand, footer));
}
