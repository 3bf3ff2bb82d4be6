/** Undo and redo. Each change makes a state; changes of the same field in a row make one. */
const MAX_STATES = 200;

export interface History<State> {
  past: readonly State[];
  future: readonly State[];
  /** What the last change was about, such as `email_1.subject`; null after undo and redo. */
  about: string | null;
}

export const emptyHistory = <State>(): History<State> => ({ past: [], future: [], about: null });

/** Remembers the state before a change. @param about changes with the same text in a row are undone together */
export function remember<State>(
  history: History<State>,
  before: State,
  about: string | null,
): History<State> {
  const goesOn = about !== null && about === history.about;
  const past = goesOn ? history.past : [...history.past, before].slice(-MAX_STATES);
  return { past, future: [], about };
}

/** Returns the state before the last change; null if there is none. */
export function undo<State>(
  { past, future }: History<State>,
  present: State,
): { history: History<State>; state: State } | null {
  const state = past.at(-1);
  if (state === undefined) return null;
  return { history: { past: past.slice(0, -1), future: [present, ...future], about: null }, state };
}

/** Returns the state that the last undo left; null if there is none. */
export function redo<State>(
  { past, future }: History<State>,
  present: State,
): { history: History<State>; state: State } | null {
  const [state, ...rest] = future;
  if (state === undefined) return null;
  return { history: { past: [...past, present], future: rest, about: null }, state };
}
