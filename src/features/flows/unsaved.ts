/** Flows as an editor has them before it saves them: whole ones, or changes to a saved one. */
import { z } from 'zod';
import { invalid, type Problems } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { requireDraftOfTestKey } from '../../platform/auth/test-keys.ts';
import { MAX_ID } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { mergeTrigger } from './change.ts';
import { findFlow, type FlowRow } from './model.ts';
import type { NumberedStep } from './number-steps.ts';
import { type InputStep, inputsOf } from './read-steps.ts';
import { pathsOf } from './paths.ts';
import { addForeignReferences, addTriggerProblems } from './references.ts';
import { changeFlowBody } from './schema.ts';
import { allSteps, channelOf, type Step } from './steps/index.ts';
import { addSizeProblem, placeSteps, storedSteps } from './write-steps.ts';

const { goal, trigger, steps } = changeFlowBody.shape;

export const unsavedFlow = {
  flow_id: z
    .int()
    .min(1)
    .max(MAX_ID)
    .optional()
    .meta({
      description:
        'A flow of the brand to which the other fields are unsaved changes: those that are left out are its own, and steps ' +
        'with an `id` are its steps. Left out: the flow is new.',
    }),
  goal,
  trigger,
  steps,
};
export const unsavedBody = z.strictObject(unsavedFlow);
export type UnsavedBody = z.output<typeof unsavedBody>;

/** Requests without a `flow_id` are about a flow with these columns. */
const NEW_FLOW = {
  id: 0,
  steps: [] as Step[],
  next_step_id: 1,
  goal: null,
  trigger_event: null,
  contact_list_id: null,
  segment_id: null,
  trigger_data: {},
};
type Columns = Pick<FlowRow, keyof typeof NEW_FLOW>;

export interface UnsavedFlow {
  /** The flow as it would be stored, except that new steps have no templates. */
  row: Columns;
  /** The steps of the flow as it is saved. */
  savedSteps: readonly Step[];
  /** The steps of the request; null: they are those of the saved flow. */
  given: { step: NumberedStep; path: string }[] | null;
  /** The ids of the steps of the request, by their refs. */
  refs: ReadonlyMap<string, number>;
}

/** The template of a step that is not stored. */
const NO_TEMPLATE = 0;

async function findSaved(db: Queryable, tenant: Tenant, flowId: number): Promise<FlowRow> {
  const flow = await findFlow(db, tenant, flowId);
  if (!flow) throw invalid({ flow_id: ['is not a flow of the brand'] });
  requireDraftOfTestKey(tenant, flow.status, 'flows');
  return flow;
}

function refsOf(given: readonly InputStep[], placed: readonly NumberedStep[]): Map<string, number> {
  const numbered = inputsOf(placed);
  return new Map(
    inputsOf(given).flatMap(({ step: { ref } }, n) => {
      const id = numbered[n]?.step.id;
      return ref === undefined || id === undefined ? [] : [[ref, id]];
    }),
  );
}

/**
 * Reads a flow that is not saved. It stores nothing.
 * @param problems receives what is wrong with the trigger and with what the steps name
 * @throws AppError validation_error on `flow_id`; test_key
 */
export async function readUnsaved(
  { db, keyring }: { db: Queryable; keyring: Keyring },
  tenant: Tenant,
  { flow_id: flowId, goal: otherGoal, trigger: otherTrigger, steps: given }: UnsavedBody,
  problems: Problems,
): Promise<UnsavedFlow> {
  const isNew = flowId === undefined;
  const saved: Columns = isNew ? NEW_FLOW : await findSaved(db, tenant, flowId);
  const row: Columns = { ...saved, ...(otherTrigger && mergeTrigger(otherTrigger)) };
  if (otherGoal !== undefined) row.goal = otherGoal;
  await addTriggerProblems(db, tenant, row, problems);
  const unchanged = { row, savedSteps: saved.steps, given: null, refs: new Map<string, number>() };
  if (!given) {
    const paths = pathsOf(row.steps);
    const named = allSteps(row.steps).map((step) => ({ step, path: paths.get(step.id) ?? 'steps' }));
    await addForeignReferences(db, tenant, named, problems);
    return unchanged;
  }
  const placed = await placeSteps(db, tenant, saved, given, { isNew, keyring, problems });
  const inputs = inputsOf(placed.steps);
  const sending = new Map(inputs.map(({ step }) => [step, channelOf(step) === null ? null : NO_TEMPLATE]));
  row.steps = storedSteps(placed.steps, sending);
  addSizeProblem(problems, row.steps);
  return { ...unchanged, given: inputs, refs: refsOf(given, placed.steps) };
}
