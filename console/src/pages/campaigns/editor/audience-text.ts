/** The audience and the sender of a campaign, in words. */
import { type AudienceNames, type Choice, labelOf } from '../../../api/choices.ts';
import { filtersText } from '../../../ui/filter-text.ts';
import type { Audience } from './content.ts';

function named(noun: 'list' | 'segment', ids: readonly number[], choices: readonly Choice[]): string[] {
  if (ids.length === 0) return [];
  const labels = ids.map((id) => labelOf(choices, id)).join(', ');
  return [`${noun}${ids.length === 1 ? '' : 's'} ${labels}`];
}

const only = (id: number | null) => (id === null ? [] : [id]);

/** Returns '' if the audience has no list, no segment and no filters. */
export function audienceText(audience: Audience, names: AudienceNames): string {
  const { lists, segments } = names;
  const { contact_list_id: listId, segment_id: segmentId, data } = audience;
  const { exclude_list_ids: noLists = [], exclude_segment_ids: noSegments = [], filters = [] } = data;
  const both = [...named('list', only(listId), lists), ...named('segment', only(segmentId), segments)];
  const without = [...named('list', noLists, lists), ...named('segment', noSegments, segments)];
  const parts = [
    both.length === 2 ? `in ${both.join(' and in ')}` : both.join(''),
    filters.length === 0 ? '' : `who match: ${filtersText(filters, names)}`,
  ].filter((part) => part !== '');
  if (parts.length === 0) return '';
  return [...parts, ...(without.length === 0 ? [] : [`without ${without.join(' and ')}`])].join(', ');
}

/** Returns a sender of the API, such as `"Acme" <hello@acme.example>`, as mail programs show it. */
export const senderText = (sender: string): string =>
  sender.replace(/^"((?:[^"\\]|\\.)*)"(?= <)/, (_, name: string) => name.replaceAll(/\\(.)/g, '$1'));
