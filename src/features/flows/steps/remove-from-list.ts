import { removeFromList as remove } from '../../lists/service.ts';
import { listChange } from './list-change.ts';

/** Removes the contact from a list. */
export const removeFromList = listChange({
  type: 'remove_from_list',
  isIn: false,
  change: (trx, contactId, listId) => remove(trx, [contactId], listId),
});
