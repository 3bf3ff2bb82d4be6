import { useListChoices, useSegmentChoices } from '../../api/audience.ts';
import type { Schemas } from '../../api/client.ts';
import { countText } from '../../ui/facts.tsx';
import type { AudienceNames } from '../../ui/filter-text.ts';

export type { AudienceNames } from '../../ui/filter-text.ts';

export const useAudienceNames = (): AudienceNames => ({
  lists: useListChoices(),
  segments: useSegmentChoices(),
});

/** Returns whose addresses a validation checks. */
export function audienceText(
  { kind, ids, ids_count: count }: Schemas['ValidationOperation']['audience'],
  { lists, segments }: AudienceNames,
): string {
  if (kind === 'contact_ids') return count === 1 ? '1 contact' : `${countText(count)} contacts`;
  if (kind === 'contact_channel_ids') return count === 1 ? '1 address' : `${countText(count)} addresses`;
  const id = String(ids[0]);
  const [noun, choices] = kind === 'list_id' ? (['List', lists] as const) : (['Segment', segments] as const);
  return `${noun} ${choices.find(({ value }) => value === id)?.label ?? id}`;
}
