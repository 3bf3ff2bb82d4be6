import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { ApiError } from '../../api/errors.ts';
import { toast } from '../../ui/toasts.tsx';
import type { Draft, DraftOf, Published } from './draft.ts';
import { DraftSession, type StoredDraft } from './session.ts';

/**
 * The draft of a resource: what the editor shows and changes. It is saved by itself.
 * @param of the resource
 * @param published what is live, as the API has it now
 */
export function useDraft<Content extends object>(
  { kind, id }: DraftOf,
  published: Published<Content>,
): Draft<Content> {
  const queryClient = useQueryClient();
  const session = useMemo(() => {
    let stored: StoredDraft<Content> | null = null;
    let revision = 0;
    return new DraftSession<Content>(published, null, {
      service: {
        load: () => Promise.resolve(stored),
        save({ content, base, over }) {
          if (over !== (stored?.etag ?? null)) {
            const message = 'it has changed since you read it';
            return Promise.reject(new ApiError({ status: 412, code: 'precondition_failed', message }));
          }
          revision += 1;
          stored = { content, base, etag: `"${revision}"`, at: new Date().toISOString(), by: null };
          return Promise.resolve(stored);
        },
        remove() {
          stored = null;
          return Promise.resolve();
        },
      },
      device: { read: () => null, write: () => undefined, clear: () => undefined },
      wait(ms, work) {
        const timer = setTimeout(work, ms);
        return () => clearTimeout(timer);
      },
      reloadPublished: () => void queryClient.invalidateQueries({ queryKey: [kind] }),
      onReplaced: (by) => toast(`${by ?? 'Someone else'} changed this.`),
    });
    // What is live comes in by the effect below.
  }, [kind, id, queryClient]);
  useEffect(() => session.seePublished(published), [session, published.etag]);
  useEffect(() => {
    const save = () => void session.flush();
    document.addEventListener('visibilitychange', save);
    return () => {
      document.removeEventListener('visibilitychange', save);
      save();
    };
  }, [session]);
  return useSyncExternalStore(session.subscribe, session.snapshot);
}
