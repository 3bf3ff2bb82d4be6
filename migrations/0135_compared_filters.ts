/** Filters of flows that compare with a value of the run. */
export const name = '0135_compared_filters';

/** SQL: lets processes end runs as broken only if they know these filters. @param known what they set */
const refuseOthers = (known: string) => `
create or replace function refuse_older_end() returns trigger language plpgsql as $$
begin
  if current_setting('carillon.filters', true) is distinct from '${known}' then
    raise exception 'a newer version continues this run' using errcode = '40001';
  end if;
  return new;
end $$;
`;

/**
 * To a process of an older version, such filters are invalid, so it would end each run of a flow that has them. Instead,
 * its transaction fails, and is repeated until a process of this version continues the run.
 */
export const up = refuseOthers('compared');

export const down = refuseOthers('campaigns');
