import { useEffect, useRef } from 'react';
import { toast } from '../../ui/toasts.tsx';
import type { Draft } from './draft.ts';

/**
 * For a dialog that asks whether to send or publish what its user sees: when another version replaces it, or is to be
 * chosen from, the question is about something else, and the dialog closes.
 * @param isBusy the draft is being published, which may itself give the content another form
 */
export function useUnchanged<Content>(
  { content, conflict }: Pick<Draft<Content>, 'content' | 'conflict'>,
  { isBusy, onChanged }: { isBusy: boolean; onChanged: () => void },
): void {
  const seen = useRef(content);
  useEffect(() => {
    if (isBusy) {
      seen.current = content;
    } else if (content !== seen.current || conflict) {
      seen.current = content;
      toast('This has changed in the meantime. Review it, then decide again.', { tone: 'warn' });
      onChanged();
    }
  });
}
