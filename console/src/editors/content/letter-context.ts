/** What the parts of the editor of a letter share. */
import { createContext, useContext } from 'react';
import type { Problem } from './checked.ts';
import type { Section } from './content.ts';
import type { SectionPath } from './sections.ts';

export interface Letter {
  sections: readonly Section[];
  /** Replaces the sections; the last ones are given, also to what runs later, such as an undo. */
  change: (next: (sections: readonly Section[]) => Section[]) => void;
  /** What the API says about a field and everything below it. */
  problemsAt: (path: string) => readonly Problem[];
  /** Names of Liquid to choose from. */
  names: readonly string[];
  /** The section that is open, by its key. */
  opened: string | null;
  open: (key: string | null) => void;
  dragged: SectionPath | null;
  drag: (path: SectionPath | null) => void;
  /** Says a change to screen readers. */
  say: (text: string) => void;
  /** Moves the focus to the handle of a section as soon as it is drawn. */
  focusOn: (key: string) => void;
  /** Whether this section waits for the focus. Call it once. */
  takesFocus: (key: string) => boolean;
}

const LetterContext = createContext<Letter | null>(null);
export const LetterProvider = LetterContext.Provider;

export function useLetter(): Letter {
  const letter = useContext(LetterContext);
  if (!letter) throw new Error('this must be rendered inside a letter');
  return letter;
}
