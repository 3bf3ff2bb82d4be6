import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';

/** What a workflow knows about its row. */
export interface Run<State> {
  /** The number of the step in this run, from 1. */
  step: number;
  /** The state after the last step. */
  state: State;
  /** Whether a signal has arrived since a step or a wait set this to false. */
  woken: boolean;
}

/** The work on one row, in steps. Each step reads the row again, so a second run is harmless. */
export interface RowWork<State> {
  /** The name of the signal after which the workflow reads its row again. */
  wake: string;
  /** The name of the query that returns the state, if there is one. */
  query?: string;
  /** The state before the first step. */
  beginning: State;
  /** Number of steps after which the workflow continues as new, before its history is long. */
  maxSteps: number;
  step(run: Run<State>): Promise<State>;
  /** Describes the row in Markdown, for an operator. */
  describe(state: State): string;
  isDone(run: Run<State>): boolean;
  /** How long to wait for a signal after a step; null if there is no wait. */
  waitOf?(state: State): { ms: number; summary: string } | null;
}

/**
 * Takes one step after the other until the row has reached its end. The order of waits and of the decision to continue
 * as new is part of recorded histories: it must not change.
 * @returns the last state, for the engine's UI
 */
export async function stepThroughRow<Input, State>(input: Input, work: RowWork<State>): Promise<State> {
  const run: Run<State> = { step: 1, state: work.beginning, woken: false };
  setHandler(defineSignal(work.wake), () => void (run.woken = true));
  if (work.query !== undefined) setHandler(defineQuery<State>(work.query), () => run.state);
  for (; ; run.step += 1) {
    run.state = await work.step(run);
    setCurrentDetails(work.describe(run.state));
    if (work.isDone(run)) return run.state;
    const wait = work.waitOf?.(run.state);
    if (wait) await condition(() => run.woken, wait.ms, { summary: wait.summary });
    if (run.step >= work.maxSteps || workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished, '1 minute');
      await continueAsNew<(input: Input) => Promise<State>>(input);
    }
  }
}
