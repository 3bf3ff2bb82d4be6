import type { Way } from '../way.ts';
import type { Place, Result, Step, StepKey, FlowContent } from './model.ts';

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
  /** The way of a simulated contact; without one, the whole flow is drawn alike. */
  way?: Way | undefined;
  /** One line about what a step does. */
  summaryOf: (step: Step) => string;
  /** Who enters, in one line. */
  triggerText: string;
  /** Opens the menu of types for a '+' mark; it also pastes. */
  onAdd: (place: Place) => void;
}
