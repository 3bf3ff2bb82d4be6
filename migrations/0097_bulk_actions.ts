/** Actions on all contacts of a brand that match a filter. */
export const name = '0097_bulk_actions';

export const up = `
create table bulk_actions (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  brand_id bigint not null references brands,
  action text not null check (action in ('delete', 'add_to_list', 'remove_from_list', 'unsubscribe')),
  list_id bigint,
  filter jsonb not null,
  pinned jsonb not null,
  dry_run boolean not null,
  status text not null default 'queued'
    check (status in ('queued', 'counting', 'running', 'completed', 'canceled', 'failed')),
  error text,
  last_id bigint,
  cursor_id bigint not null default 0,
  counted bigint not null default 0,
  total_count bigint,
  processed_count bigint not null default 0,
  changed_count bigint not null default 0,
  failed_count bigint not null default 0,
  timeouts smallint not null default 0,
  engine_expected_by timestamptz,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz
);
comment on column bulk_actions.filter is 'as the client wrote it';
comment on column bulk_actions.pinned is 'the filters of its segments when the action was created, and the lists that it names';
comment on column bulk_actions.last_id is 'the highest id of a contact when the action began: later contacts are not concerned';
comment on column bulk_actions.cursor_id is 'contacts up to this id are counted or, while the action runs, done';
comment on column bulk_actions.timeouts is 'statements that took too long; each makes the pages smaller';
create index bulk_actions_of_brand on bulk_actions (brand_id, id desc);
create index bulk_actions_unfinished on bulk_actions (account_id, id) where finished_at is null;
create index bulk_actions_expected on bulk_actions (engine_expected_by) where engine_expected_by is not null;
create index bulk_actions_finished on bulk_actions (finished_at) where finished_at is not null;
`;

export const down = `
drop table bulk_actions;
`;
