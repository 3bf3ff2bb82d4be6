/** Enforces the daily limit of test messages for concurrent requests, too. */
export const name = '0065_test_messages';

export const up = `
create function refuse_over_test_limit(account bigint, ids bigint[], most integer) returns boolean language plpgsql as $$
declare
  earlier integer;
begin
  -- Held until the end of the transaction. The next statement then reads what the one before it has committed.
  perform pg_advisory_xact_lock(hashtextextended('test messages ' || account::text, 0));
  select count(*) into earlier from test_messages t
  where t.account_id = account and t.created_at >= date_trunc('day', now(), 'UTC') and t.message_id <> all(ids);
  if earlier + cardinality(ids) > most then
    raise exception 'account % has used up its test messages of today', account using errcode = 'CL004';
  end if;
  return false;
end $$;
comment on function refuse_over_test_limit is
  'refuses test messages, which the statement that calls it is writing, if the account has more than so many on one day (UTC)';
`;

export const down = `
drop function refuse_over_test_limit;
`;
