import type { Schemas } from '../../api/client.ts';

export type BulkKind = Schemas['BulkAction']['action'];

export const actionTexts: Readonly<Record<BulkKind, { label: string; effect: string; needsList: boolean }>> =
  {
    add_to_list: {
      label: 'Add to a list',
      effect: 'They are added to the list. Contacts who have unsubscribed stay unsubscribed.',
      needsList: true,
    },
    remove_from_list: {
      label: 'Remove from a list',
      effect: 'They leave the list, and stay contacts.',
      needsList: true,
    },
    unsubscribe: {
      label: 'Unsubscribe',
      effect:
        'Campaigns and flows no longer reach their addresses, now and later. Only the contacts themselves, or you one by one, can change that.',
      needsList: false,
    },
    delete: {
      label: 'Delete',
      effect:
        'The contacts, their events and the contents of messages to them are deleted. This cannot be undone. Suppressions and opt-outs stay.',
      needsList: false,
    },
  };

/** A value that is not a boolean goes to the API as it is: the list refuses it, and so must the action. */
const booleanOf = (text: string): boolean =>
  text === 'true' || text === 'false' ? text === 'true' : (text as unknown as boolean);

/**
 * Returns the contacts of a bulk action. The API refuses an empty filter: a lost filter never selects all contacts.
 * @param filter the filters of the list of contacts, as in its URL
 */
export function bulkFilterOf(
  filter: Readonly<Record<string, string>>,
  selectedIds: readonly number[],
): Schemas['BulkFilter'] {
  if (selectedIds.length > 0) return { filters: [{ name: 'id', predicate: 'in', value: [...selectedIds] }] };
  const { subscribed, list_id: listId, segment_id: segmentId, ...texts } = filter;
  const given: Schemas['BulkFilter'] = {
    ...texts,
    ...(subscribed === undefined ? {} : { subscribed: booleanOf(subscribed) }),
    ...(listId === undefined ? {} : { list_id: Number(listId) }),
    ...(segmentId === undefined ? {} : { segment_id: Number(segmentId) }),
  };
  return Object.keys(given).length > 0 ? given : { all: true };
}
