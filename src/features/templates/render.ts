import {
  type ContentEngine,
  type ContentSource,
  type ContentValues,
  type Problem,
  type Renderable,
  type RenderedContent,
  RenderError,
} from '../../delivery/content/templates/content.ts';
import { invalid, notFound } from '../../errors.ts';
import { isTestCaller, type Tenant } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Brand } from '../brands/schema.ts';
import { type ContactValues, findContactValues } from '../contacts/service.ts';
import { fromEngine } from './compile.ts';
import { findTemplate } from './model.ts';
import { sourceOf, type TemplateDeps } from './pin.ts';
import { namesWithSample, type Samples } from './samples.ts';
import type { RenderBody } from './schema.ts';
import { sizeOf, type SmsSize } from './sms-size.ts';
import { sampleValues } from './values.ts';

export interface RenderDeps extends TemplateDeps {
  /** The setting PUBLIC_URL; null if it is not set. */
  publicUrl: string | null;
}

const NOTHING = { subject: null, html: null, text: null, sms: null };

/**
 * Finds the contact. Test keys cannot read contacts, because ids can be counted up.
 * @throws AppError validation_error
 */
export async function requireContact(
  db: Queryable,
  { brandId, actor }: Pick<Tenant, 'brandId' | 'actor'>,
  id: number | undefined,
): Promise<ContactValues | null> {
  if (id === undefined) return null;
  if (isTestCaller(actor)) throw invalid({ contact_id: ['is not for test keys; give `variables` instead'] });
  const contact = await findContactValues(db, brandId, { id });
  if (!contact) throw invalid({ contact_id: ['is not the id of a contact of this brand'] });
  return contact;
}

/** Renders a content. @returns an error if it cannot be rendered */
export async function tryRender(
  contents: Pick<ContentEngine, 'render'>,
  content: Renderable,
  values: ContentValues,
): Promise<RenderedContent | RenderError> {
  try {
    return await fromEngine(contents.render(content, values));
  } catch (error) {
    if (error instanceof RenderError) return error;
    throw error;
  }
}

/** A content as an editor sees it. */
export type Shown = RenderedContent & { sms: SmsSize | null; problems: Problem[] };

/**
 * Renders a content for a contact or with sample values, as it would be sent now.
 * @returns null texts if the content cannot be compiled or rendered; `problems` then say why
 * @throws AppError unavailable
 */
export async function renderSource(
  { pool, contents }: Pick<RenderDeps, 'pool' | 'contents'>,
  { accountId }: Pick<Tenant, 'accountId'>,
  { source, brand, samples, variables, contact }: SourceWithValues,
): Promise<Shown> {
  const known = namesWithSample({ ...samples, ...variables });
  const [{ content }, problems] = await fromEngine(
    Promise.all([contents.compile(source, accountId), contents.check(source, known, accountId)]),
  );
  if (!content) return { ...NOTHING, problems };
  const values = sampleValues(brand, { samples, variables, contact });
  const rendered = await tryRender(contents, { ...content, id: null, accountId }, values);
  if (rendered instanceof RenderError) {
    const problem: Problem = { field: source.contentFrom, code: 'too_slow', message: rendered.message };
    return { ...NOTHING, problems: [...problems, problem] };
  }
  const { text } = rendered;
  const { segments: reserved } = content;
  const number = contact?.phone ?? null;
  // Only an SMS reserves segments.
  const isSms = reserved !== null && text !== null;
  const sms = isSms ? await sizeOf(pool, accountId, text, { number, reserved }) : null;
  return { ...rendered, sms, problems };
}

interface SourceWithValues {
  source: ContentSource;
  brand: Brand;
  samples: Samples;
  variables: Samples;
  contact: ContactValues | null;
}

/**
 * Renders a template for a contact or with sample values, as it would be sent now. Stores nothing.
 * @returns null texts if the template cannot be compiled or rendered; `problems` then say why
 * @throws AppError not_found, validation_error, unavailable
 */
export async function renderTemplate(
  deps: RenderDeps,
  tenant: Tenant,
  id: number,
  body: RenderBody,
): Promise<Shown> {
  const { pool } = deps;
  const [row, brand, contact] = await Promise.all([
    findTemplate(pool, tenant, id),
    deps.brandOf(tenant),
    requireContact(pool, tenant, body.contact_id),
  ]);
  if (!row) throw notFound('template');
  const samples = body.sample ? row.variables : {};
  const variables = body.variables ?? {};
  return renderSource(deps, tenant, { source: sourceOf(row, brand), brand, samples, variables, contact });
}
