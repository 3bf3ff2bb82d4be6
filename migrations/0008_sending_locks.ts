/** Locks with which pausing an account waits for the current intents, however many follow. */
export const name = '0008_sending_locks';

export const up = `
-- Advisory locks queue in order: an intent that comes after a waiting pause waits for it. Row locks do not: a stream of
-- overlapping share locks would keep a pause waiting for ever. There is one lock for all accounts with the same
-- remainder, so that the largest statement takes 256 locks at most.
create function accounts_to_send(ids bigint[]) returns setof accounts language plpgsql rows 50 as $$
begin
  perform pg_advisory_xact_lock_shared(1129468235, lock)
  from (select distinct (id % 256)::int as lock from unnest(ids) as u (id) order by 1) locks;
  -- A query of its own sees what was committed before the locks were granted; the calling statement does not.
  return query select a.* from accounts a where a.id = any(ids);
end $$;
comment on function accounts_to_send is
  'the accounts of messages that are about to be sent; until the transaction ends, no pause of them is confirmed';

create function stop_intents(account bigint) returns void language sql as $$
  select pg_advisory_xact_lock(1129468235, (account % 256)::int)
$$;
comment on function stop_intents is
  'waits until no intent of the account is under way; until the transaction ends, no other begins';
`;

export const down = `
drop function stop_intents, accounts_to_send;
`;
