/** The types of steps, and what all steps have in common. To add a type, see `docs/adding-a-flow-step.md`. */
import { z } from 'zod';
import type { Channel } from '../../../delivery/terms/message.ts';
import { describeAs } from '../../../platform/openapi/describe-as.ts';
import type { ListedTemplateRow } from '../../templates/service.ts';
import type { StepResult } from '../run/interpreter.ts';
import { addToList } from './add-to-list.ts';
import { condition } from './condition.ts';
import { email } from './email.ts';
import { event } from './event.ts';
import { exit } from './exit.ts';
import { removeFromList } from './remove-from-list.ts';
import type { SendingStep } from './sending.ts';
import { sms } from './sms.ts';
import { split } from './split.ts';
import type { Acting, AnyStep, References, Simulating, StepType, StoredStep } from './step.ts';
import { updateContact } from './update-contact.ts';
import { wait } from './wait.ts';
import { waitForEvent } from './wait-for-event.ts';
import { webhook } from './webhook.ts';

/** The types in the order in which the API description and error messages list them. */
export const stepTypes = [
  email,
  sms,
  wait,
  condition,
  waitForEvent,
  event,
  updateContact,
  addToList,
  removeFromList,
  webhook,
  split,
  exit,
] as const;

type StepOf<T> = T extends StepType<infer S> ? S : never;

/** A step as it is stored. Ids are unique in the flow and never reused. */
export type Step = StepOf<(typeof stepTypes)[number]>;
export type StepTypeName = Step['type'];

/** The types of steps by name. Tests use tables of their own. */
export interface StepTable {
  types: ReadonlyMap<string, StepType>;
  names: readonly string[];
  /** The shapes that clients write, by type. Their branches are described but not parsed. */
  shapes: ReadonlyMap<string, z.ZodObject>;
  /** The schema of steps for the API description. */
  describe: () => z.ZodType;
}

/** Turns `wait_for_event` into `WaitForEventStep`. */
const componentName = (type: string) =>
  `${type}_step`.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

export function createStepTable(types: readonly StepType[]): StepTable {
  // Branches are parsed separately, so that errors in them get their own paths.
  const branch = describeAs(z.unknown(), () => describe().nullable()).optional();
  const shapes = types.map(({ type, shape, branches }): [string, z.ZodObject] => {
    const whole = branches ? shape.extend(branches.fields(branch)) : shape;
    return [type, whole.meta({ id: componentName(type) })];
  });
  const [first, ...others] = shapes.map(([, shape]) => shape);
  const input = z
    .discriminatedUnion('type', [first as z.ZodObject, ...others])
    .meta({ id: 'FlowStepInput', description: 'A step of a flow in a request.' });
  const describe = () => z.array(input);
  return {
    types: new Map(types.map((type) => [type.type, type])),
    names: types.map(({ type }) => type),
    shapes: new Map(shapes),
    describe,
  };
}

export const stepTable = createStepTable(stepTypes);
export const stepTypeNames = stepTable.names as [StepTypeName, ...StepTypeName[]];

/** @throws Error if there is no such type, because a later version of the service stored the step */
export function typeOf({ type }: AnyStep, table = stepTable): StepType {
  const found = table.types.get(type);
  if (!found) throw new Error(`there are no steps of type ${type}`);
  return found;
}

/**
 * Returns the fields of a step that contain branches, with the steps in them replaced.
 * @param change also receives the name of the branch
 */
export function mapBranches<S extends AnyStep>(
  step: S,
  change: (steps: readonly S[], name: string) => unknown,
  table = stepTable,
): object {
  const { branches } = table.types.get(step.type) ?? {};
  return branches?.map(step, (steps, name) => change(steps as readonly S[], name)) ?? {};
}

/** The branches of a step, with their names in paths: `yes`, `no`, `branches.0.steps`. */
export function branchesOf<S extends AnyStep>(
  step: S,
  table = stepTable,
): { name: string; steps: readonly S[] }[] {
  const found: { name: string; steps: readonly S[] }[] = [];
  mapBranches(step, (steps, name) => found.push({ name, steps }), table);
  return found;
}

/** All steps, each before those of its branches. */
export function allSteps<S extends AnyStep>(steps: readonly S[], table = stepTable): S[] {
  return steps.flatMap((step) => [
    step,
    ...branchesOf(step, table).flatMap((branch) => allSteps(branch.steps, table)),
  ]);
}

export const referencesOf = (step: AnyStep, table = stepTable): References =>
  table.types.get(step.type)?.references?.(step as StoredStep) ?? {};

/** The event that runs wait for at a step; null if they wait for none. */
export const awaitedEvent = (step: StoredStep): string | null =>
  stepTable.types.get(step.type)?.awaits?.(step) ?? null;

/** Whether a run in a cohort takes the step in a transaction of its own. */
export const isAlone = (step: AnyStep): boolean => stepTable.types.get(step.type)?.alone === true;

/** The channel of the messages that a step sends; null if it sends none. */
export const channelOf = (step: AnyStep): Channel | null => stepTable.types.get(step.type)?.sends ?? null;

/** The steps that send, each before those of its branches. */
export function sendingSteps(steps: readonly Step[]): (Step & SendingStep)[] {
  return allSteps(steps).filter((step): step is Step & SendingStep => channelOf(step) !== null);
}

/** The fields of a step that are not stored with it. @param content its template; undefined if it has none */
export const presentFields = (step: StoredStep, content: ListedTemplateRow | undefined): object =>
  stepTable.types.get(step.type)?.present?.(step, content) ?? {};

/** Executes a step. @throws Error if steps of its type do not act */
export function act(step: StoredStep, acting: Acting): Promise<StepResult | { exit: string }> {
  const type = typeOf(step);
  if (!type.act) throw new Error(`steps of type ${type.type} do not act`);
  return type.act(step, acting);
}

/**
 * Simulates what the step would do, or how its endpoint would respond.
 * @throws Error if its type cannot be simulated
 */
export async function simulate(
  step: StoredStep,
  simulating: Simulating,
  table = stepTable,
): Promise<StepResult | { exit: string }> {
  const type = typeOf(step, table);
  if (!type.simulate) throw new Error(`steps of type ${type.type} cannot be simulated`);
  return type.simulate(step, simulating);
}

/** SQL: whether `detail` of a row of `flow_run_steps` contains the output of a step. */
export function answersSql(row: string): string {
  const names = stepTypes.filter((type) => 'leavesAnswer' in type).map(({ type }) => `'${type}'`);
  return `${row}.type in (${names.join(', ')})`;
}
