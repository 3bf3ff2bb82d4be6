import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useBrand } from '../../shell/brand.ts';
import type { DraftOf, ReadContent } from './draft.ts';
import { createDraftService } from './service.ts';
import type { StoredDraft } from './versions.ts';

/**
 * Loads the draft that the service has, for pages that only look at it; null if there is none.
 * @param isEnabled whether to load it
 */
export function useStoredDraft<Content extends object>(
  { kind, id }: DraftOf,
  read: ReadContent<Content>,
  isEnabled = true,
): UseQueryResult<StoredDraft<Content> | null> {
  const { account, brandId, signedIn } = useBrand();
  const owner = { kind, id, accountId: account.id, brandId, userId: signedIn.user.id };
  return useQuery({
    queryKey: ['drafts', 'stored', kind, id],
    enabled: isEnabled,
    gcTime: 0,
    queryFn: () => createDraftService(owner, read).load(),
  });
}
