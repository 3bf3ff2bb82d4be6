/** What a send of the campaign would refuse, while it is edited. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, call } from '../../../api/client.ts';
import { ApiError, messageOf } from '../../../api/errors.ts';
import { retryWhenAllowed } from '../../../api/query-client.ts';
import { areComplete } from '../../../editors/filters/values.ts';
import { useSettled } from '../../../ui/settled.ts';
import { patchOf, type EditedCampaign, type Stage } from './content.ts';

export type FieldErrors = Readonly<Record<string, readonly string[]>>;

export interface Checked {
  errors: FieldErrors;
  needsApproval: boolean;
  /** The sender, as the API describes it; null if it is not known. */
  sender: string | null;
  /** Why the check did not succeed; null if it did, or has not ended. */
  fault: string | null;
  /** Whether the result is about what is written now. */
  isCurrent: boolean;
  again: () => void;
}

const NONE: FieldErrors = {};

const FILTERS = 'trigger_attributes.data.filters';

/** Replaces what the API says about filters that someone is still making. */
export function withoutIncomplete(
  errors: FieldErrors,
  { trigger_attributes: audience }: EditedCampaign,
): FieldErrors {
  if (areComplete(audience.data.filters ?? [], 'segment')) return errors;
  const others = Object.entries(errors).filter(
    ([path]) => path !== FILTERS && !path.startsWith(`${FILTERS}.`),
  );
  return { ...Object.fromEntries(others), [FILTERS]: ['Complete the filters first.'] };
}

/** The page does not show the id of the segment. */
const inWords = (errors: FieldErrors): FieldErrors =>
  Object.fromEntries(
    Object.entries(errors).map(([field, texts]) => [
      field,
      texts.map((text) => text.replaceAll('segment_id', 'segment').replaceAll('data.filters', 'filters')),
    ]),
  );

/** Checks a campaign whenever it has settled. Once it has recipients, its content is checked by the editor. */
export function useCheck(id: number, content: EditedCampaign, stage: Stage): Checked {
  const asked = useSettled(patchOf(content, stage));
  const { data, error, isPlaceholderData, refetch } = useQuery({
    ...retryWhenAllowed,
    // Not below `campaigns`, which are reloaded when this one is sent and can no longer be checked.
    queryKey: ['campaign-check', id, asked],
    enabled: stage !== 'begun',
    placeholderData: keepPreviousData,
    gcTime: 0,
    queryFn: ({ signal }) =>
      call(() => api.POST('/v1/my/campaigns/{id}/check', { params: { path: { id } }, body: asked, signal })),
  });
  // A request that the API cannot read names its fields in the same way.
  const refused = error instanceof ApiError && Object.keys(error.fields).length > 0 ? error.fields : null;
  return {
    errors: inWords(refused ?? data?.errors ?? NONE),
    needsApproval: data?.needs_approval ?? false,
    sender: data?.sender ?? null,
    fault: error && !refused ? messageOf(error) : null,
    isCurrent: (data !== undefined || refused !== null) && !isPlaceholderData,
    again: () => void refetch(),
  };
}

/** Errors about fields that are missing rather than wrong. A new campaign should not begin with a page full of them. */
const MISSING = /^(?:is required|there is no content)/;

export const withoutMissing = (errors: FieldErrors): FieldErrors =>
  Object.fromEntries(
    Object.entries(errors)
      .map(([path, texts]) => [path, texts.filter((text) => !MISSING.test(text))] as const)
      .filter(([, texts]) => texts.length > 0),
  );

/** The errors of fields below a path, by the rest of their paths. */
export function errorsBelow(errors: FieldErrors, path: string): Record<string, readonly string[]> {
  const below = Object.entries(errors).filter(([field]) => field.startsWith(`${path}.`));
  return Object.fromEntries(below.map(([field, texts]) => [field.slice(path.length + 1), texts]));
}
