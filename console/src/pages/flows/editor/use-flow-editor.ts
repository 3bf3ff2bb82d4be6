import { useState } from 'react';
import { toast } from '../../../ui/toasts.tsx';
import { emptyHistory, redo, remember, undo, type History } from './history.ts';
import type { StepKey } from '../flow-layout.ts';
import type { Done, FlowContent, Result, Step } from './model.ts';

export interface FlowEditor {
  content: FlowContent;
  selected: StepKey | null;
  select: (key: StepKey | null) => void;
  /** Changes fields of the flow. @param about changes with the same text in a row are undone together */
  change: (patch: Partial<FlowContent>, about?: string) => void;
  /** Runs a command, and reports a refusal. @returns whether it was done */
  run: (command: (steps: readonly Step[]) => Result, about?: string) => boolean;
  /** Null if there is nothing to undo. */
  undo: (() => void) | null;
  redo: (() => void) | null;
}

type Travel = typeof undo<FlowContent>;

/** What the editor's views and forms have in common: the selection, commands and their history. */
export function useFlowEditor(draft: {
  content: FlowContent;
  change: (next: (content: FlowContent) => FlowContent) => void;
}): FlowEditor {
  const { content } = draft;
  const [selected, select] = useState<StepKey | null>(null);
  const [known, setKnown] = useState({ content, history: emptyHistory<FlowContent>() });

  /** In someone else's draft, and in what has been published, steps may have other keys. */
  const historyAt = (now: FlowContent, { content: then, history }: typeof known): History<FlowContent> =>
    then === now ? history : emptyHistory();

  const apply = (change: (now: FlowContent) => FlowContent, about?: string) => {
    // An editor of contents may answer late, so the content is that of now, not that of the last rendering.
    draft.change((now) => {
      const next = change(now);
      if (next !== now) {
        setKnown((then) => ({ content: next, history: remember(historyAt(now, then), now, about ?? null) }));
      }
      return next;
    });
  };
  const report = ({ select: next, notes = [] }: Done) => {
    if (next !== undefined) select(next);
    for (const note of notes) toast(note, { tone: 'warn' });
  };
  const travel = (to: Travel) => {
    const found = to(historyAt(content, known), content);
    if (!found) return null;
    return () => {
      setKnown({ content: found.state, history: found.history });
      draft.change(() => found.state);
    };
  };
  return {
    content,
    selected,
    select,
    change: (patch, about) => apply((now) => ({ ...now, ...patch }), about),
    run(command, about) {
      let result: Result | undefined;
      apply((now) => {
        result = command(now.steps);
        if ('refused' in result || result.steps === now.steps) return now;
        return { ...now, steps: result.steps };
      }, about);
      if (!result) return false;
      if ('refused' in result) {
        toast(result.refused, { tone: 'bad' });
        return false;
      }
      report(result);
      return true;
    },
    undo: travel(undo),
    redo: travel(redo),
  };
}
