/** How a campaign runs: rates for the stop thresholds, local times, and contacts selected by their events. */
export const name = '0038_campaign_runs';

export const up = `
alter table campaign_blocks
  add column not_before timestamptz,
  add column counted integer not null default 0,
  add column bounced integer not null default 0,
  add column complained integer not null default 0;
comment on column campaign_blocks.not_before is 'the local time at which it is due, whatever the throttle or an A/B test say';
comment on column campaign_blocks.counted is
  'emails accepted or bounced at hand-over since counted_from of the campaign; bounced (for good) and complained are some of them';

alter table campaigns add column winner smallint;
comment on column campaigns.winner is 'the variant that won the A/B test; null: not decided, or no test';

create table campaign_contacts (
  campaign_id bigint not null,
  contact_id bigint not null,
  primary key (campaign_id, contact_id)
);
comment on table campaign_contacts is
  'contacts of a segment that depends on events, evaluated once at the start of the snapshot; removed after it';

alter table brands add column timezone text;
comment on column brands.timezone is 'an IANA name; local times of contacts whose zone and country are unknown';
`;

export const down = `
alter table brands drop column timezone;
drop table campaign_contacts;
alter table campaigns drop column winner;
alter table campaign_blocks
  drop column not_before, drop column counted, drop column bounced, drop column complained;
`;
