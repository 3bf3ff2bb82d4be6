/** SMS without a known outcome return a part of their charge if they prove to have fewer segments than was charged. */
export const name = '0062_fewer_segments';

export const up = `
comment on table unknown_charges is
  'messages that left the queue or their block before their sender recorded an outcome: they are charged what they have reserved. It is given back if an outcome or a report shows that they were not sent, and the difference if they were sent with fewer segments, also if their month is posted. Housekeeping deletes the rows of messages that were sent';

-- A function for the same reason as take_unknown_charges.
create function lower_unknown_charges(ids bigint[], counts int[]) returns setof unknown_charges language plpgsql as $$
begin
  return query with differences as materialized (
    select u.message_id, u.account_id, u.channel, u.month, u.millicents * (u.units - l.count) / u.units as millicents,
      u.units - l.count as units
    from unknown_charges u join unnest(ids, counts) as l (id, count) on u.message_id = l.id
    where u.units > l.count for update of u
  ), lowered as (
    update unknown_charges u set millicents = u.millicents - d.millicents, units = u.units - d.units
    from differences d where u.message_id = d.message_id
  )
  select * from differences;
end $$;
comment on function lower_unknown_charges is 'lowers what unknown messages were charged to these segments, and returns the differences; the caller has locked the messages, and gives them back';
`;

export const down = `
drop function lower_unknown_charges;
`;
