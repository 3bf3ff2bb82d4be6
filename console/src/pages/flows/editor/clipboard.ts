/** Copied steps, for all flows of the brand and all tabs of this browser. */
import { useSyncExternalStore } from 'react';
import { readClip, type Clip } from './clip.ts';

const keyOf = (brandId: number) => `carillon.flow-steps.${brandId}`;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  globalThis.addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    globalThis.removeEventListener('storage', listener);
  };
}

export function keepClip(brandId: number, clip: Clip): void {
  localStorage.setItem(keyOf(brandId), clip);
  for (const listener of listeners) listener();
}

/** Returns what was copied last; null if there is nothing that can be pasted. */
export function useClip(brandId: number): Clip | null {
  const clip = useSyncExternalStore(subscribe, () => localStorage.getItem(keyOf(brandId)));
  return clip !== null && readClip(clip) ? clip : null;
}
