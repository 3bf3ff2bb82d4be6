/** Runs that begin or wait at noon in a scripted context, for the tests of the interpreter and of types of steps. */
import {
  advanceSteps,
  firstRecord,
  type Halt,
  type RunRecord,
} from '../../../../src/features/flows/run/interpreter.ts';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { type Script, type ScriptedContext, scriptedContext } from './scripted-context.ts';

export const NOON = '2026-03-10T12:00:00.000Z';

export const email = (id: number): Step => ({ type: 'email', id, template_id: id });

export async function advance(
  steps: readonly Step[],
  record: RunRecord,
  script: Partial<Script> = {},
): Promise<Halt & { context: ScriptedContext }> {
  const context = scriptedContext({ asOf: NOON, ...script });
  return { ...(await advanceSteps(steps, record, context)), context };
}

export const begin = (steps: readonly Step[], script?: Partial<Script>) =>
  advance(steps, firstRecord(new Date(NOON)), script);

/** A run that waits at its step since noon. */
export const waiting = (stepId: number, wait: RunRecord['wait']): RunRecord => ({
  ...firstRecord(new Date(NOON)),
  begun: true,
  stepId,
  wait,
});
