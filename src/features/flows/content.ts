/** The templates of a flow: one for each email and sms step, with the id of the step as `action_id`. */
import { isDeepStrictEqual } from 'node:util';
import type { Channel } from '../../delivery/terms/message.ts';
import { type Problems, validationErrorsOf } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import {
  applyContent,
  copyTemplate,
  findListedTemplates,
  findTemplateRows,
  type ListedTemplateRow,
  replaceContent,
  sourceContent,
  type TemplateRow,
  type TemplateValues,
  writeOwnTemplate,
} from '../templates/service.ts';
import type { TemplateContent } from '../templates/schema.ts';
import type { FlowRow } from './model.ts';
import { fieldPath } from './paths.ts';
import type { InputStep } from './read-steps.ts';
import { sendingSteps, type Step } from './steps/index.ts';

const templateIdsOf = (steps: readonly Step[]) => sendingSteps(steps).map((step) => step.template_id);

/** Finds the templates of a flow's current steps, by their ids. */
export async function findStepTemplates(
  db: Queryable,
  scope: BrandScope,
  steps: readonly Step[],
): Promise<Map<number, TemplateRow>> {
  const ids = templateIdsOf(steps);
  const rows = ids.length > 0 ? await findTemplateRows(db, scope, ids) : [];
  return new Map(rows.map((row) => [row.id, row]));
}

/** Finds the present templates of a flow's steps, by the ids of the steps. */
export async function templatesByStep(
  db: Queryable,
  scope: BrandScope,
  steps: readonly Step[],
): Promise<Map<number, TemplateRow>> {
  const templates = await findStepTemplates(db, scope, steps);
  const found = sendingSteps(steps).map(({ id, template_id }) => [id, templates.get(template_id)] as const);
  return new Map(found.flatMap(([id, template]) => (template ? [[id, template]] : [])));
}

/** Maximum size of a flow's contents together, in bytes. Every response that shows the flow includes them all. */
export const MAX_CONTENT_BYTES = 8 * 1024 * 1024;
export const CONTENTS_TOO_LARGE = 'must have at most 8 MB of contents of emails and SMS together';

/** Counts the bytes of those parts of a template that may be large. */
export function contentBytes({
  body,
  design,
  variables,
}: Pick<TemplateRow, 'body' | 'design' | 'variables'>): number {
  const parts = [body ?? '', JSON.stringify(design), JSON.stringify(variables)];
  return parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
}

/**
 * Finds the templates of flows of one brand for a list, by their ids.
 * @param summary whether bodies are left out as well
 */
export async function findPageTemplates(
  db: Queryable,
  scope: BrandScope,
  rows: readonly FlowRow[],
  summary: boolean,
): Promise<Map<number, ListedTemplateRow>> {
  const ids = rows.flatMap((row) => templateIdsOf(row.steps));
  const found = ids.length > 0 ? await findListedTemplates(db, scope, ids, summary) : [];
  return new Map(found.map((template) => [template.id, template]));
}

/** Reports validation errors of a template under the path of its step. */
async function withPath<T>(path: string, problems: Problems, work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    const errors = validationErrorsOf(error);
    if (errors === null) throw error;
    for (const [field, messages] of Object.entries(errors)) {
      problems.add({ [fieldPath(path, field)]: messages });
    }
    return null;
  }
}

type ContentInput = InputStep & TemplateContent & { template_id?: number };

/** The content that a client wrote into a step, and the template that it names. */
function contentOf(input: InputStep): { named: number | undefined; content: TemplateContent } {
  const { type: _type, id: _id, ref: _ref, template_id: named, ...content } = input as ContentInput;
  return { named, content };
}

/**
 * The content that a step would have once it is written, see {@link writeStepContent}.
 * @returns null after an error was added to `problems`
 */
export function unsavedContent(
  db: Queryable,
  scope: BrandScope,
  { channel, path, input, own }: Omit<StepContent, 'flowId' | 'stepId'>,
  problems: Problems,
): Promise<TemplateValues | null> {
  const { named, content } = contentOf(input);
  return withPath(path, problems, async () => {
    const copied = named !== undefined && named !== own?.id;
    const before = copied ? await sourceContent(db, scope, named, channel) : own;
    return applyContent(before, channel, content);
  });
}

export interface StepContent {
  flowId: number;
  stepId: number;
  channel: Channel;
  /** The path of the step in errors. */
  path: string;
  /** The step as the client wrote it. */
  input: InputStep;
  /** The step's present template; null for a new step. */
  own: TemplateRow | null;
}

/**
 * Writes the content of a step into its template, which is created for a new step. If the step names another template,
 * that one's content is copied first; fields that are left out keep their values.
 * @returns the template, which is `own` itself if nothing changes; null after an error was added to `problems`
 */
export function writeStepContent(
  trx: Queryable,
  scope: BrandScope,
  { flowId, stepId, channel, path, input, own }: StepContent,
  problems: Problems,
): Promise<TemplateRow | null> {
  const { named, content } = contentOf(input);
  const owner = { flowId, actionId: stepId };
  const given = Object.entries(content).filter(([, value]) => value !== undefined);
  return withPath(path, problems, async () => {
    let template = own;
    if (named !== undefined && named !== own?.id) {
      template = own
        ? await replaceContent(trx, scope, own, named)
        : await copyTemplate(trx, scope, named, owner, { channel });
    }
    const differs = ([field, value]: [string, unknown]) =>
      !isDeepStrictEqual(template?.[field as keyof TemplateRow], value);
    if (template && !given.some(differs)) return template;
    return writeOwnTemplate(trx, scope, owner, channel, content, template?.id ?? null);
  });
}

/** Hides the templates of steps that were removed. Their versions stay for runs that have yet to reach them. */
export async function hideOtherTemplates(trx: Queryable, row: Pick<FlowRow, 'id'>, steps: readonly Step[]) {
  await trx.query(
    'update templates set removed_at = now() where flow_id = $1 and removed_at is null and not (id = any($2))',
    [row.id, templateIdsOf(steps)],
  );
}
