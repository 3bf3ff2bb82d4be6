import { queryOptions, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useSyncExternalStore } from 'react';
import { useBrand } from '../../shell/brand.ts';
import { toast } from '../../ui/toasts.tsx';
import { mergedText, replacedText } from './change-text.ts';
import { createDevice } from './device.ts';
import type { Draft, DraftForm, DraftOf, Published, ReadContent } from './draft.ts';
import { createDraftService, type DraftOwner } from './service.ts';
import { DraftSession } from './session.ts';

const draftKey = ({ kind, id }: DraftOwner) => ['drafts', kind, id];

/** Loaded whenever an editor opens; from then on, its session knows better. */
const draftQuery = <Content extends object>(owner: DraftOwner, read: ReadContent<Content>) =>
  queryOptions({
    queryKey: draftKey(owner),
    queryFn: () => createDraftService(owner, read).load(),
    staleTime: Infinity,
    gcTime: 0,
  });

function useOwner({ kind, id }: DraftOf): DraftOwner {
  const { account, brandId, signedIn } = useBrand();
  const [accountId, userId] = [account.id, signedIn.user.id];
  return useMemo(() => ({ kind, id, accountId, brandId, userId }), [kind, id, accountId, brandId, userId]);
}

/**
 * Saves before the tab is hidden or closed, and looks for changes by others when it is shown again.
 * @param onEnd the editor is closed
 */
function useLife<Content extends object>(session: DraftSession<Content>, onEnd: () => void): void {
  useEffect(() => {
    session.start();
    const onVisibility = () =>
      void (document.visibilityState === 'hidden' ? session.flush() : session.check());
    const save = () => void session.flush();
    const onLeave = (event: BeforeUnloadEvent) => session.isAtRisk() && event.preventDefault();
    document.addEventListener('visibilitychange', onVisibility);
    globalThis.addEventListener('online', save);
    globalThis.addEventListener('beforeunload', onLeave);
    return () => {
      document.removeEventListener('visibilitychange', onVisibility);
      globalThis.removeEventListener('online', save);
      globalThis.removeEventListener('beforeunload', onLeave);
      void session.end();
      onEnd();
    };
  }, [session, onEnd]);
}

/**
 * The draft of a resource: what its editor shows and changes. It is saved by itself. The component waits in `Suspense`
 * until the draft is loaded.
 * @param of the resource
 * @param published what is live, as the API has it now
 * @param form the same object at each call
 */
export function useDraft<Content extends object>(
  of: DraftOf,
  published: Published<Content>,
  form: DraftForm<Content>,
): Draft<Content> {
  const queryClient = useQueryClient();
  const { read } = form;
  const owner = useOwner(of);
  const { data: loaded } = useSuspenseQuery(draftQuery(owner, read));
  const session = useMemo(() => {
    const { kind, id, brandId, userId } = owner;
    return new DraftSession<Content>(published, loaded, {
      service: createDraftService(owner, read),
      form,
      device: createDevice(`${userId}:${brandId}:${kind}:${id}`, crypto.randomUUID(), read, localStorage),
      wait(ms, work) {
        const timer = setTimeout(work, ms);
        return () => clearTimeout(timer);
      },
      reloadPublished: () => void queryClient.invalidateQueries({ queryKey: [kind] }),
      onReplaced: (stored) => toast(replacedText(stored)),
      onMerged: (merge) => toast(mergedText(form, merge)),
    });
    // What comes later is seen by the session itself, and by the effect below.
  }, [owner, read, form, queryClient]);
  const forget = useCallback(() => {
    const filters = { queryKey: draftKey(owner), exact: true, type: 'inactive' } as const;
    // Later, because React's StrictMode closes and opens each editor once more.
    queueMicrotask(() => queryClient.removeQueries(filters));
  }, [owner, queryClient]);
  useLife(session, forget);
  useEffect(() => session.seePublished(published), [session, published.etag]);
  return useSyncExternalStore(session.subscribe, session.snapshot);
}
