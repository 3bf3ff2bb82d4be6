/** Backlogs that a limit holds as a whole, so that one row is checked again instead of each message. */
export const name = '0012_held_backlogs';

export const up = `
alter table send_queue add column held boolean not null default false;
comment on column send_queue.held is
  'waits until its backlog is released; due_at is then the end of its lifetime';

create table held_backlogs (
  account_id bigint not null references accounts on delete cascade,
  channel text not null,
  class smallint not null,
  recheck_at timestamptz not null,
  release_count integer,
  released_until timestamptz,
  primary key (account_id, channel, class)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
comment on table held_backlogs is 'a row for each account, channel and class with held messages';
comment on column held_backlogs.recheck_at is 'when a sender looks whether the limits let messages go';
comment on column held_backlogs.release_count is
  'while the backlog is being released in pages: how many messages more may go; null: not being released';
comment on column held_backlogs.released_until is 'the due_at of the last message released';
create index held_backlogs_recheck on held_backlogs (recheck_at);
`;

export const down = `
drop table held_backlogs;
alter table send_queue drop column held;
`;
