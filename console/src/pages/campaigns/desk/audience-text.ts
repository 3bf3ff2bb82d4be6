/** The audience of a campaign, and whom it is from, in words. */
import { type AudienceNames, type Choice, labelOf } from '../../../api/choices.ts';
import type { Audience } from './content.ts';

function named(noun: 'list' | 'segment', ids: readonly number[], choices: readonly Choice[]): string[] {
  if (ids.length === 0) return [];
  const labels = ids.map((id) => labelOf(choices, id)).join(', ');
  return [`${noun}${ids.length === 1 ? '' : 's'} ${labels}`];
}

const only = (id: number | null) => (id === null ? [] : [id]);

/** Returns '' if the audience names no list and no segment. */
export function audienceText(audience: Audience, { lists, segments }: AudienceNames): string {
  const { contact_list_id: listId, segment_id: segmentId, data } = audience;
  const both = [...named('list', only(listId), lists), ...named('segment', only(segmentId), segments)];
  const without = [
    ...named('list', data.exclude_list_ids ?? [], lists),
    ...named('segment', data.exclude_segment_ids ?? [], segments),
  ];
  const taken = both.length === 2 ? `in ${both.join(' and in ')}` : both.join('');
  return taken === '' || without.length === 0 ? taken : `${taken}, without ${without.join(' and ')}`;
}

/** Returns a sender of the API, such as `"Acme" <hello@acme.example>`, as mail programs show it. */
export const senderText = (sender: string): string =>
  sender.replace(/^"((?:[^"\\]|\\.)*)"(?= <)/, (_, name: string) => name.replaceAll(/\\(.)/g, '$1'));
