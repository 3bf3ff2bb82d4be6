/** Filters of a campaign's trigger, which select its recipients. */
export const name = '0120_campaign_filters';

export const up = `
alter table campaigns add column trigger_filters jsonb;
comment on column campaigns.trigger_filters is
  'the filters in trigger_data that select recipients; null, or other than those: trigger_data was stored by a version that did not read them, and they have no effect';

-- A process of an older version does not know filters, and would pin an audience without them.
alter table campaigns add constraint campaigns_pinned_filters check (
  trigger_filters is null or trigger_filters is distinct from trigger_data -> 'filters'
  or phase = 'draft' or audience is null or coalesce(audience ->> 'version', '') = '3');
`;

export const down = `
alter table campaigns drop constraint campaigns_pinned_filters;
alter table campaigns drop column trigger_filters;
`;
