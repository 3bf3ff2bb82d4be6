/**
 * Charges of messages without a known outcome. They are returned, however late, once it is known that a message was not
 * sent.
 */
export const name = '0058_unknown_charges';

export const up = `
comment on table unknown_charges is
  'messages that left the queue without a known outcome: they are charged, and given back if an outcome or a report shows that they were not sent, also if their month is posted. Housekeeping deletes the rows of messages that were sent';

-- Functions, because each statement of a volatile function sees what is committed when it begins. The statements that call
-- them may have waited for the messages, while another transaction charged these as unknown.
create function take_unknown_charges(ids bigint[]) returns setof unknown_charges language plpgsql as $$
begin
  return query delete from unknown_charges where message_id = any(ids) returning *;
end $$;
comment on function take_unknown_charges is 'removes what unknown messages were charged; the caller has locked the messages, and gives it back';

create function has_unknown_charge(id bigint) returns boolean language plpgsql as $$
begin
  return exists (select from unknown_charges where message_id = id);
end $$;
`;

export const down = `
drop function take_unknown_charges, has_unknown_charge;
`;
