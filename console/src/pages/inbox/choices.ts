/** What conversations can be filtered by and assigned to. */
import { useQuery } from '@tanstack/react-query';
import type { Choice } from '../../api/choices.ts';
import { api, call } from '../../api/client.ts';
import { fullNameOf } from '../../ui/contact-text.ts';

const MAX = 100;

/** Users of the account. */
export function useAssignees(): readonly Choice[] {
  const { data } = useQuery({
    queryKey: ['users', 'choices'],
    queryFn: ({ signal }) =>
      call(() => api.GET('/v1/my/users', { params: { query: { limit: MAX } }, signal })),
    staleTime: 60_000,
  });
  return (data ?? []).map((user) => ({ value: String(user.id), label: fullNameOf(user) || user.email }));
}

/** The inboxes of the brand; a brand has at most 100. */
export function useInboxes(): readonly Choice[] {
  const { data } = useQuery({
    queryKey: ['inboxes', 'choices'],
    queryFn: ({ signal }) =>
      call(() => api.GET('/v1/my/inboxes', { params: { query: { limit: MAX } }, signal })),
    staleTime: 60_000,
  });
  return (data ?? []).map(({ id, address }) => ({ value: String(id), label: address }));
}

/** Returns the id in a parameter of the URL. */
export const idOf = (text: string | undefined): number | undefined => Number(text) || undefined;
