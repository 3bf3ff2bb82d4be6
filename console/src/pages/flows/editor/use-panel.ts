import { useState } from 'react';
import type { StepKey } from '../flow-layout.ts';
import type { FlowEditor } from './use-flow-editor.ts';

/** From this width on, the panel is beside the views; on narrower pages, it covers them. */
const WIDE = '(min-width: 1200px)';

export interface Panel {
  /** Whether it is shown on a narrow page. */
  isOpen: boolean;
  /** Counts how often the focus was sent to it. */
  focused: number;
  /** Shows a step; null is the trigger. */
  open: (key: StepKey | null) => void;
  close: () => void;
}

/** The panel of the selected step. The keyboard goes into it with Enter, and back with Escape. */
export function usePanel(editor: FlowEditor): Panel {
  const [state, setState] = useState<{ opener: Element | null; isOpen: boolean; focused: number }>({
    opener: null,
    isOpen: false,
    focused: 0,
  });
  return {
    isOpen: state.isOpen,
    focused: state.focused,
    open(key) {
      editor.select(key);
      const opener = document.activeElement;
      const takesFocus = opener?.matches(':focus-visible') === true || !globalThis.matchMedia(WIDE).matches;
      setState(({ focused }) => ({ opener, isOpen: true, focused: takesFocus ? focused + 1 : focused }));
    },
    close() {
      setState((now) => ({ ...now, isOpen: false }));
      if (state.opener instanceof HTMLElement) state.opener.focus();
    },
  };
}
