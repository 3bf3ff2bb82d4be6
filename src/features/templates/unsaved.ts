/** Contents that are not stored: an editor renders and checks them while they are written. */
import type { Problem } from '../../delivery/content/templates/content.ts';
import type { Design } from '../../delivery/content/templates/design.ts';
import { type CheckProblem, checkProblems, Problems, type ValidationErrors } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import { fromEngine } from './compile.ts';
import { sourceOf } from './pin.ts';
import { renderSource, type RenderDeps, requireContact, type Shown } from './render.ts';
import { namesWithSample } from './samples.ts';
import type { CheckUnsavedBody, RenderUnsavedBody, UnsavedContent } from './schema.ts';
import { addContentProblems, addFooterProblems, asWarnings, withoutErrors } from './send-checks.ts';
import { applyContent, NO_OWNER } from './write.ts';

/** Reads what a content that is not stored is compiled from. @throws AppError validation_error */
export async function sourceOfUnsaved(
  { brandOf }: Pick<RenderDeps, 'brandOf'>,
  scope: BrandScope,
  { channel, footer, subject, preheader, body, design }: UnsavedContent,
) {
  const written = applyContent(null, channel, { subject, preheader, body, design });
  const brand = await brandOf(scope);
  return { brand, written, source: sourceOf({ ...written, ...NO_OWNER, channel }, brand, footer) };
}

/** Renders a content for a contact, or with a sample contact. @throws AppError validation_error, unavailable */
export async function renderUnsaved(
  deps: RenderDeps,
  tenant: Tenant,
  { contact_id: contactId, variables = {}, ...content }: RenderUnsavedBody,
): Promise<Shown> {
  const [{ brand, source }, contact] = await Promise.all([
    sourceOfUnsaved(deps, tenant, content),
    requireContact(deps.pool, tenant, contactId),
  ]);
  return renderSource(deps, tenant, { source, brand, samples: {}, variables, contact });
}

/** What a check of a content finds. */
export interface Checked {
  /** All of the following, as all checks list it. */
  problems: CheckProblem[];
  /** What a send would refuse. */
  errors: ValidationErrors;
  /** What could be better. */
  warnings: Problem[];
  /** The names that the content uses, sorted. */
  variables: string[];
}

/** Checks a content as a send would. @throws AppError validation_error, unavailable */
export async function checkUnsaved(
  deps: RenderDeps,
  scope: BrandScope,
  { variables = {}, ...content }: CheckUnsavedBody,
): Promise<Checked> {
  const { source, brand } = await sourceOfUnsaved(deps, scope, content);
  const [compiled, found] = await fromEngine(
    Promise.all([
      deps.contents.compile(source, scope.accountId),
      deps.contents.check(source, namesWithSample(variables), scope.accountId),
    ]),
  );
  const problems = new Problems();
  const version = compiled.content && { ...compiled.content, channel: content.channel };
  addContentProblems(problems, { version, problems: compiled.problems }, (name) => name);
  if (content.footer === 'marketing') {
    addFooterProblems(problems, content.channel, { brand, publicUrl: deps.publicUrl }, 'campaigns and flows');
  }
  const warnings = withoutErrors(found, compiled.problems);
  return {
    problems: [...checkProblems(problems.errors), ...asWarnings(warnings)],
    errors: problems.errors,
    warnings,
    variables: [...(compiled.content?.variables ?? [])],
  };
}

/**
 * Converts a design to HTML with its Liquid, so that its author can continue in source.
 * @returns null as HTML if the design has errors; `problems` then say which
 * @throws AppError unavailable
 */
export async function designToHtml(
  deps: RenderDeps,
  scope: BrandScope,
  design: Design,
): Promise<{ html: string | null; problems: Problem[] }> {
  // Preheader and footer are added once more when the HTML is sent.
  const content = { channel: 'email', footer: 'none', subject: null, preheader: null, body: null } as const;
  const { source } = await sourceOfUnsaved(deps, scope, { ...content, design });
  const { content: compiled, problems } = await fromEngine(deps.contents.compile(source, scope.accountId));
  return { html: compiled?.html ?? null, problems };
}
