/** Copied steps of a user, for all flows of the brand and all tabs of this browser. */
import { useSyncExternalStore } from 'react';
import { keepForUser, userKey } from '../../../shell/user-storage.ts';
import { readClip, type Clip } from './clip.ts';

/** The user and the brand of the steps. */
interface ClipOwner {
  userId: number;
  brandId: number;
}

const keyOf = ({ userId, brandId }: ClipOwner) => userKey(userId, `flow-steps.${brandId}`);
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  globalThis.addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    globalThis.removeEventListener('storage', listener);
  };
}

/** @returns whether it is kept, see `keepForUser` */
export function keepClip(owner: ClipOwner, clip: Clip): boolean {
  const isKept = keepForUser(keyOf(owner), clip);
  for (const listener of listeners) listener();
  return isKept;
}

/** Returns what was copied last; null if there is nothing that can be pasted. */
export function useClip(owner: ClipOwner): Clip | null {
  const clip = useSyncExternalStore(subscribe, () => localStorage.getItem(keyOf(owner)));
  return clip !== null && readClip(clip) ? clip : null;
}
