/** Bulk actions on conversations, beside those on contacts. */
export const name = '0112_conversation_bulk_actions';

export const up = `
alter table bulk_actions drop constraint bulk_actions_action_check;
alter table bulk_actions add constraint bulk_actions_action_check
  check (action in ('delete', 'add_to_list', 'remove_from_list', 'unsubscribe', 'delete_conversations'));
create index conversations_by_id on conversations (brand_id, id);
comment on column bulk_actions.last_id is
  'the highest id of a contact or conversation when the action began: later ones are not concerned';
comment on column bulk_actions.cursor_id is
  'contacts or conversations up to this id are counted or, while the action runs, done';
`;

export const down = `
drop index conversations_by_id;
delete from bulk_actions where action = 'delete_conversations';
alter table bulk_actions drop constraint bulk_actions_action_check;
alter table bulk_actions add constraint bulk_actions_action_check
  check (action in ('delete', 'add_to_list', 'remove_from_list', 'unsubscribe'));
`;
