import { useSyncExternalStore } from 'react';
import type { Tone } from './notice.tsx';

interface Toast {
  id: number;
  text: string;
  tone: Tone;
  /** Undoes what the toast reports. */
  undo?: (() => void) | undefined;
}

const SHOWN_MS = 8_000;

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

const remove = (id: number) => change(toasts.filter((each) => each.id !== id));

/**
 * Shows a short message for some seconds; screen readers say it.
 * @param options.undo adds a button that undoes what the message reports
 */
export function toast(text: string, options: { tone?: Tone; undo?: () => void } = {}): void {
  lastId += 1;
  const id = lastId;
  change([...toasts, { id, text, tone: options.tone ?? 'good', undo: options.undo }]);
  setTimeout(() => remove(id), SHOWN_MS);
}

/** Nothing that was reported so far can be undone from now on. */
export const dropUndo = (): void => change(toasts.map(({ undo: _undo, ...rest }) => rest));

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export function ToastList() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div className="toasts" role="status">
      {shown.map(({ id, text, tone, undo }) => (
        <div key={id} className={`toast ${tone}`}>
          <span>{text}</span>
          {undo && (
            <button
              type="button"
              className="button quiet"
              onClick={() => {
                remove(id);
                undo();
              }}
            >
              Undo
            </button>
          )}
        </div>
      ))}
    </div>
  );
}
