/** Stores the steps of a request: gives ids to new ones, checks what they name, and writes their contents. */
import { invalid, Problems } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import {
  contentBytes,
  CONTENTS_TOO_LARGE,
  hideOtherTemplates,
  MAX_CONTENT_BYTES,
  templatesByStep,
  writeStepContent,
} from './content.ts';
import type { FlowRow } from './model.ts';
import { keepMasked, maxValuesFor, sealHeaders } from './header-secrets.ts';
import { fieldPath } from './paths.ts';
import { type NumberedStep, numberSteps } from './number-steps.ts';
import { type InputStep, inputsOf } from './read-steps.ts';
import { addForeignReferences } from './references.ts';
import { allSteps, channelOf, mapBranches, type Step } from './steps/index.ts';

/** Maximum size of the steps of a flow as JSON, in bytes, without the contents of emails and SMS. */
const MAX_BYTES = 256 * 1024;

interface Written {
  steps: Step[];
  next_step_id: number;
  /** Whether the content of a step was written. */
  contentsChanged: boolean;
}

/**
 * Returns steps as they are stored. Their shapes have been checked; fields that were left out are absent.
 * @param templateIds of the steps that send
 */
export function storedSteps(
  steps: readonly NumberedStep[],
  templateIds: ReadonlyMap<NumberedStep, number | null>,
): Step[] {
  return steps.map((step) => {
    const templateId = templateIds.get(step) ?? null;
    // The content is stored in the template.
    if (templateId !== null) return { type: step.type, id: step.id, template_id: templateId } as Step;
    const fields = Object.entries(step).filter(([, value]) => value !== undefined);
    const branches = mapBranches(step, (inner) => storedSteps(inner, templateIds));
    return { ...Object.fromEntries(fields), ...branches } as Step;
  });
}

/** @param known the types of the flow's steps by id; null: a new flow, which takes the ids that the client gives */
function addUnknownIds(
  problems: Problems,
  inputs: readonly { step: InputStep; path: string }[],
  known: ReadonlyMap<number, string> | null,
): void {
  if (!known) return;
  for (const { step, path } of inputs) {
    if (step.id === undefined) continue;
    const type = known.get(step.id);
    if (type === step.type) continue;
    const message = type
      ? `is the id of a step of type ${type}; leave it out for a new step`
      : 'is not the id of a step of this flow; leave it out for a new step';
    problems.add({ [fieldPath(path, 'id')]: [message] });
  }
}

export function addSizeProblem(problems: Problems, steps: readonly Step[]): void {
  if (Buffer.byteLength(JSON.stringify(steps)) <= MAX_BYTES) return;
  problems.add({ steps: ['must have at most 256 KB of JSON, without the contents of emails and SMS'] });
}

interface WriteOptions {
  /** Whether the request creates the flow. */
  isNew: boolean;
  keyring: Keyring;
}

/**
 * Gives ids to the steps of a request, and adds what is wrong with what they name.
 * @param row a saved flow, or one that the request creates
 */
export async function placeSteps(
  db: Queryable,
  scope: BrandScope,
  row: Pick<FlowRow, 'steps' | 'next_step_id'>,
  given: readonly InputStep[],
  { isNew, keyring, problems }: WriteOptions & { problems: Problems },
): Promise<ReturnType<typeof numberSteps>> {
  const placed = numberSteps(given, row.next_step_id);
  const types = new Map(allSteps(row.steps).map(({ id, type }) => [id, type]));
  addUnknownIds(problems, inputsOf(given), isNew ? null : types);
  await addForeignReferences(db, scope, inputsOf(placed.steps), problems);
  const kept = { saved: row.steps, given: placed.steps };
  return { ...placed, steps: await keepMasked(db, keyring, scope, kept, problems) };
}

/**
 * Writes the steps of a request into a locked flow. The caller stores what it returns.
 * @throws AppError validation_error that lists every problem by its path
 */
export async function writeSteps(
  trx: Queryable,
  scope: Tenant,
  row: Pick<FlowRow, 'id' | 'steps' | 'next_step_id'>,
  inputs: readonly InputStep[],
  { isNew, keyring }: WriteOptions,
): Promise<Written> {
  const problems = new Problems();
  const placed = await placeSteps(trx, scope, row, inputs, { isNew, keyring, problems });
  problems.throwIfAny();
  const templates = await templatesByStep(trx, scope, row.steps);
  const templateIds = new Map<NumberedStep, number | null>();
  let bytes = 0;
  let contentsChanged = false;
  for (const { step, path } of inputsOf(placed.steps)) {
    const { id } = step;
    let templateId: number | null = null;
    const channel = channelOf(step);
    if (channel !== null) {
      const own = templates.get(id) ?? null;
      const content = { flowId: row.id, stepId: id, channel, path, input: step, own };
      const template = await writeStepContent(trx, scope, content, problems);
      if (template) bytes += contentBytes(template);
      // Stop copying contents once the limit is exceeded.
      if (bytes > MAX_CONTENT_BYTES) throw invalid({ steps: [CONTENTS_TOO_LARGE] });
      templateId = template?.id ?? null;
      contentsChanged ||= template !== own;
    }
    templateIds.set(step, templateId);
  }
  problems.throwIfAny();
  const given = storedSteps(placed.steps, templateIds);
  addSizeProblem(problems, given);
  problems.throwIfAny();
  const steps = await sealHeaders(trx, keyring, scope, given, maxValuesFor(scope));
  if (!isNew) await hideOtherTemplates(trx, row, steps);
  return { steps, next_step_id: placed.next_step_id, contentsChanged };
}
