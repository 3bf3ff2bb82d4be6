/** Filters of a campaign's trigger, which select its recipients, and filters by the mail of a campaign. */
export const name = '0120_campaign_filters';

/** SQL: whether a draft was stored with filters when they had no effect. */
const hasInert = (draft: string) =>
  `coalesce((${draft} #> '{trigger_attributes,data,filters}')::text <> '[]', false)`;

/** SQL: the draft with the name that the API shows for them. */
const renamed = (draft: string) => `case when ${hasInert(draft)}
  then jsonb_set(${draft}::jsonb #- '{trigger_attributes,data,filters}', '{trigger_attributes,data,inert_filters}',
    ${draft}::jsonb #> '{trigger_attributes,data,filters}')::json
  else ${draft} end`;

export const up = `
-- Published under their name, they would take effect. The new revision keeps editors from saving it once more.
update drafts set content = ${renamed('content')}, base_content = ${renamed('base_content')},
  revision = nextval('draft_revisions')
where campaign_id is not null and (${hasInert('content')} or ${hasInert('base_content')});

alter table campaigns add column trigger_filters jsonb;
comment on column campaigns.trigger_filters is
  'the filters in trigger_data that select recipients; null, or other than those: trigger_data was stored by a version that did not read them, and they have no effect';

-- A process of an older version does not know filters, and would pin an audience without them.
alter table campaigns add constraint campaigns_pinned_filters check (
  trigger_filters is null or trigger_filters is distinct from trigger_data -> 'filters'
  or phase = 'draft' or audience is null or coalesce(audience ->> 'version', '') = '3');

-- To a process of an older version, filters that name a campaign are invalid, so it would end each run of a flow that
-- has them. Instead, its transaction fails, and is repeated until a process of this version continues the run.
create function refuse_older_end() returns trigger language plpgsql as $$
begin
  if current_setting('carillon.filters', true) is distinct from 'campaigns' then
    raise exception 'a newer version continues this run' using errcode = '40001';
  end if;
  return new;
end $$;
create trigger flow_runs_refuse_older_end before update of state on flow_runs for each row
  when (old.state = 'active' and new.state = 'exited' and new.reason = 'error')
  execute function refuse_older_end();
`;

export const down = `
drop trigger flow_runs_refuse_older_end on flow_runs;
drop function refuse_older_end;
alter table campaigns drop constraint campaigns_pinned_filters;
alter table campaigns drop column trigger_filters;
`;
