import { useQuery } from '@tanstack/react-query';
import type { Choice } from '../../../api/choices.ts';
import { api, callPage, type Schemas } from '../../../api/client.ts';
import { templateName } from '../../templates/owner-link.tsx';

/** The newest templates; others are chosen by their id through the API. */
const MAX_CHOICES = 100;

/** Returns the newest templates of the brand for a channel; none until they are loaded. */
export function useTemplateChoices(channel: Schemas['Template']['channel']): Choice[] {
  const query = { limit: MAX_CHOICES, summary: 'true', channel } as const;
  const { data } = useQuery({
    queryKey: ['templates', query],
    queryFn: ({ signal }) => callPage(() => api.GET('/v1/my/templates', { params: { query }, signal })),
  });
  return (data?.rows ?? []).map((template) => ({
    value: String(template.id),
    label: templateName(template),
  }));
}
