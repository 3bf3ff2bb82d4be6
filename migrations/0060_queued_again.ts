/** Late records of attempts: a message is only tried again if it still has its queue row. */
export const name = '0060_queued_again';

export const up = `
-- A function, because each statement of a volatile function sees what is committed when it begins: a record that waited for
-- the message, while the reaper removed the queue row, must not see the row.
create function has_queue_row(id bigint) returns boolean language plpgsql as $$
begin
  return exists (select from send_queue q where q.message_id = id);
end $$;
comment on function has_queue_row is 'whether something will send the message; the caller has locked the message';
`;

export const down = `
drop function has_queue_row;
`;
