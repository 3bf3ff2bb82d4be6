import type { TakenPath } from '../taken-path.ts';
import type { StepKey } from '../flow-layout.ts';
import type { InsertionPoint, Result, Step, FlowContent } from './model.ts';

/** What the graph and the outline show, and what the user does in them. */
export interface EditorViewProps {
  content: FlowContent;
  /** The step that is open in the panel; null is the trigger. */
  selected: StepKey | null;
  onSelect: (key: StepKey | null) => void;
  /** Runs a command of `commands.ts` or `clip.ts`, and reports a refusal. */
  run: (command: (steps: readonly Step[]) => Result) => void;
  /** What is wrong with a step, by its key as text. */
  problems: Readonly<Record<string, readonly string[]>>;
  /** The path of a simulated contact; without one, the whole flow is drawn alike. */
  takenPath?: TakenPath | undefined;
  /** One line about what a step does. */
  summaryOf: (step: Step) => string;
  /** Who enters, in one line. */
  triggerText: string;
  /** What a '+' mark does: "Add a step", or "Put Email 1" while a step is moved by its panel. */
  addText: string;
  /** Opens the menu of types for a '+' mark, which also pastes; or puts the step that is moved. */
  onAdd: (place: InsertionPoint) => void;
}
