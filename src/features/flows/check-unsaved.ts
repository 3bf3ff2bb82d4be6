/** Checks a flow that is not saved as an activation would, and stores nothing. */
import { type CheckProblem, checkProblems, Problems } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { Brand } from '../brands/schema.ts';
import {
  addContentProblems,
  addFooterProblems,
  fromEngine,
  sourceOf,
  type TemplateValues,
} from '../templates/service.ts';
import {
  addSenderProblems,
  addShapeProblems,
  type CheckDeps,
  contentField,
  requireFlows,
  type SentContent,
} from './checks.ts';
import {
  contentBytes,
  CONTENTS_TOO_LARGE,
  MAX_CONTENT_BYTES,
  templatesByStep,
  unsavedContent,
} from './content.ts';
import { pathsOf } from './paths.ts';
import { channelOf, sendingSteps } from './steps/index.ts';
import { type UnsavedBody, type UnsavedFlow, readUnsaved } from './unsaved.ts';

type Content = TemplateValues & Pick<SentContent, 'path' | 'channel'>;

/** Reads the contents that the steps would have. */
async function readContents(
  { pool }: Pick<CheckDeps, 'pool'>,
  tenant: Tenant,
  { row, savedSteps, given }: UnsavedFlow,
  problems: Problems,
): Promise<Content[]> {
  const templates = await templatesByStep(pool, tenant, savedSteps);
  if (!given) {
    const paths = pathsOf(row.steps);
    return sendingSteps(row.steps).flatMap(({ id }) => {
      const template = templates.get(id);
      return template ? [{ ...template, path: paths.get(id) ?? 'steps' }] : [];
    });
  }
  const contents: Content[] = [];
  for (const { step, path } of given) {
    const channel = channelOf(step);
    if (channel === null) continue;
    const own = templates.get(step.id) ?? null;
    const values = await unsavedContent(pool, tenant, { channel, path, input: step, own }, problems);
    if (values) contents.push({ ...values, channel, path });
  }
  return contents;
}

/** Compiles a content as an activation does. @returns whether it can be used */
async function compiles(
  { templates: { contents } }: CheckDeps,
  { accountId }: Tenant,
  content: Content,
  brand: Brand,
  problems: Problems,
): Promise<boolean> {
  const { channel } = content;
  const source = sourceOf({ ...content, campaign_id: null, flow_id: null }, brand, 'marketing');
  const compiled = await fromEngine(contents.compile(source, accountId));
  const version = compiled.content && { ...compiled.content, channel };
  addContentProblems(problems, { problems: compiled.problems, version }, contentField(content.path));
  return version !== null;
}

/**
 * Finds everything for which an activation would refuse the flow.
 * @returns the messages by the paths of their fields
 * @throws AppError forbidden if the account may not have flows; validation_error on `flow_id`; test_key; unavailable
 */
export async function checkUnsaved(
  deps: CheckDeps,
  tenant: Tenant,
  body: UnsavedBody,
): Promise<{ problems: CheckProblem[] }> {
  await requireFlows(deps.pool, tenant);
  const problems = new Problems();
  const flow = await readUnsaved({ db: deps.pool, keyring: deps.keyring }, tenant, body, problems);
  addShapeProblems(problems, flow.row);
  const contents = await readContents(deps, tenant, flow, problems);
  const bytes = contents.reduce((sum, content) => sum + contentBytes(content), 0);
  if (bytes > MAX_CONTENT_BYTES) problems.add({ steps: [CONTENTS_TOO_LARGE] });
  const brand = await deps.templates.brandOf(tenant);
  const sent: SentContent[] = [];
  for (const content of contents) {
    const isCompiled = await compiles(deps, tenant, content, brand, problems);
    sent.push({ ...content, isCompiled });
  }
  const emails = sent.filter(({ channel }) => channel === 'email');
  if (emails.length > 0) {
    addFooterProblems(problems, 'email', { brand, publicUrl: deps.publicUrl }, 'flows');
    await addSenderProblems(deps.pool, deps, tenant, emails, problems);
  }
  return { problems: checkProblems(problems.errors) };
}
