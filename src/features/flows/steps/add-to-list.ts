import { addToLists } from '../../lists/service.ts';
import { listChange } from './list-change.ts';

/** Adds the contact to a list. */
export const addToList = listChange({
  type: 'add_to_list',
  isIn: true,
  change: (trx, contactId, listId) => addToLists(trx, [contactId], [listId]),
});
