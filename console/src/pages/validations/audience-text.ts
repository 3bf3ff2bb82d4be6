import { type AudienceNames, labelOf } from '../../api/choices.ts';
import type { Schemas } from '../../api/client.ts';
import { countText } from '../../ui/details.tsx';

/** Returns whose addresses a validation checks. */
export function audienceText(
  { kind, ids, ids_count: count }: Schemas['ValidationOperation']['audience'],
  { lists, segments }: AudienceNames,
): string {
  if (kind === 'contact_ids') return count === 1 ? '1 contact' : `${countText(count)} contacts`;
  if (kind === 'contact_channel_ids') return count === 1 ? '1 address' : `${countText(count)} addresses`;
  const [noun, choices] = kind === 'list_id' ? (['List', lists] as const) : (['Segment', segments] as const);
  return `${noun} ${labelOf(choices, ids[0])}`;
}
