import { useState } from 'react';
import { toast } from '../../../ui/toasts.tsx';
import { emptyHistory, redo, remember, undo, type History } from './history.ts';
import type { FlowContent, Result, Step, StepKey } from './model.ts';

export interface FlowEditor {
  content: FlowContent;
  selected: StepKey | null;
  select: (key: StepKey | null) => void;
  /** Changes fields of the flow. @param about changes with the same text in a row are undone together */
  change: (patch: Partial<FlowContent>, about?: string) => void;
  /** Runs a command, and reports a refusal. */
  run: (command: (steps: readonly Step[]) => Result, about?: string) => void;
  /** Null if there is nothing to undo. */
  undo: (() => void) | null;
  redo: (() => void) | null;
}

/** What the editor's views and forms have in common: the selection, commands and their history. */
export function useFlowEditor(draft: {
  content: FlowContent;
  change: (next: (content: FlowContent) => FlowContent) => void;
}): FlowEditor {
  const { content } = draft;
  const [selected, select] = useState<StepKey | null>(null);
  const [known, setKnown] = useState({ content, history: emptyHistory<FlowContent>() });
  // Someone else's draft, or what has been published: steps may have other keys there.
  const history = known.content === content ? known.history : emptyHistory<FlowContent>();

  const show = (next: FlowContent, nextHistory: History<FlowContent>) => {
    setKnown({ content: next, history: nextHistory });
    draft.change(() => next);
  };
  const go = (found: { history: History<FlowContent>; state: FlowContent } | null) =>
    found && (() => show(found.state, found.history));
  const change: FlowEditor['change'] = (patch, about) => {
    show({ ...content, ...patch }, remember(history, content, about ?? null));
  };
  return {
    content,
    selected,
    select,
    change,
    run(command, about) {
      const result = command(content.steps);
      if ('refused' in result) {
        toast(result.refused, { tone: 'bad' });
        return;
      }
      if (result.steps !== content.steps) change({ steps: result.steps }, about);
      if (result.select !== undefined) select(result.select);
      for (const note of result.notes ?? []) toast(note, { tone: 'warn' });
    },
    undo: go(undo(history, content)),
    redo: go(redo(history, content)),
  };
}
