/** The way of a run through the drawing of its flow. */
import type { Schemas } from '../../api/client.ts';
import type { Edge } from './flow-layout.ts';
import { WAITS_FOR } from './run-text.ts';

type Run = Pick<Schemas['FlowRun'], 'state' | 'step_id' | 'waits_for' | 'path'>;

export interface Way {
  isTaken: (edge: Edge) => boolean;
  stateOf: (step: { id: number }) => 'taken' | 'here' | 'other';
  /** What became of a step, or what the run waits for at it. */
  noteOf: (stepId: number) => string;
}

/** @returns where the run went and where it is; an edge is taken if the run went through its branch and came to its end */
export function wayOf(run: Run): Way {
  const taken = new Map(run.path.map((step) => [step.step_id, step]));
  const here = run.state === 'active' ? run.step_id : null;
  const reached = (stepId: number | null) =>
    stepId === null ? run.state === 'completed' : stepId === here || taken.has(stepId);
  return {
    isTaken: ({ branch, to }) =>
      reached(to) && (branch === null || taken.get(branch.stepId)?.outcome === branch.outcome),
    stateOf({ id }) {
      if (id === here) return 'here';
      return taken.has(id) ? 'taken' : 'other';
    },
    noteOf(stepId) {
      if (stepId === here && run.waits_for) return `waits for ${WAITS_FOR[run.waits_for]}`;
      const step = taken.get(stepId);
      return [step?.outcome, step?.message?.status].filter(Boolean).join(' · ');
    },
  };
}
