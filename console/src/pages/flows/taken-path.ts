/** The path of a contact through the drawing of a flow: of a run, or of a simulation. */
import type { Schemas } from '../../api/client.ts';
import { keyOf, type Edge, type LaidOutStep, type StepKey } from './flow-layout.ts';
import { WAITS_FOR } from './run-text.ts';

type Run = Pick<Schemas['FlowRun'], 'state' | 'step_id' | 'waits_for' | 'path'>;

export interface TakenPath {
  isTaken: (edge: Edge) => boolean;
  stateOf: (step: Pick<LaidOutStep, 'id' | 'ref'>) => 'taken' | 'here' | 'other';
  /** What became of a step, or what the run waits for at it. */
  noteOf: (step: StepKey) => string;
}

interface PathParts {
  /** The steps that were taken, with their outcomes. */
  taken: ReadonlyMap<StepKey, string | null>;
  /** Where the run is. */
  here: StepKey | null;
  isCompleted: boolean;
  noteOf: TakenPath['noteOf'];
}

/** An edge is taken if the run went through its branch and came to its end. */
function takenPath({ taken, here, isCompleted, noteOf }: PathParts): TakenPath {
  const reached = (step: StepKey | null) => (step === null ? isCompleted : step === here || taken.has(step));
  return {
    isTaken: ({ branch, to }) =>
      reached(to) && (branch === null || taken.get(branch.step) === branch.outcome),
    stateOf(step) {
      if (keyOf(step) === here) return 'here';
      return taken.has(keyOf(step)) ? 'taken' : 'other';
    },
    noteOf,
  };
}

/** Returns where a run went and where it is. */
export function pathOfRun(run: Run): TakenPath {
  const path = new Map<StepKey, Run['path'][number]>(run.path.map((step) => [step.step_id, step]));
  const here = run.state === 'active' ? run.step_id : null;
  return takenPath({
    taken: new Map([...path].map(([key, { outcome }]) => [key, outcome])),
    here,
    isCompleted: run.state === 'completed',
    noteOf(key) {
      if (key === here && run.waits_for) return `waits for ${WAITS_FOR[run.waits_for]}`;
      const step = path.get(key);
      return [step?.outcome, step?.message?.status].filter(Boolean).join(' · ');
    },
  });
}

/**
 * Returns where a contact would go.
 * @param keyAt finds a step by its position, such as `steps[2].yes[0]`: a step that is not published has no id yet
 */
export function simulatedPath(
  { path, ends, passes_filters: enters }: Schemas['FlowSimulation'],
  keyAt: (position: string) => StepKey | null,
): TakenPath {
  const taken = new Map<StepKey, string>();
  for (const { position, outcome } of enters ? path : []) {
    const key = keyAt(position);
    if (key !== null) taken.set(key, outcome);
  }
  const noteOf = (key: StepKey) => taken.get(key)?.replaceAll('_', ' ') ?? '';
  return takenPath({ taken, here: null, isCompleted: enters && ends.state === 'completed', noteOf });
}
