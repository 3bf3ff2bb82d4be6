/** When blocks of campaigns and brands were last claimed, and when a throttled campaign may claim its next one. */
export const name = '0074_claim_turns';

export const up = `
create table campaign_turns (
  campaign_id bigint primary key,
  claimed_at timestamptz not null,
  next_free_at timestamptz
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
comment on table campaign_turns is
  'campaigns of which a sender has claimed a block; written by claims, under the advisory lock of their account, and removed with the end of the campaign';
comment on column campaign_turns.next_free_at is
  'no block of the throttled campaign is claimed before; null: it has no throttle';

create table brand_turns (
  brand_id bigint not null,
  channel text not null,
  provider_id bigint not null,
  claimed_at timestamptz not null,
  primary key (brand_id, channel, provider_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
comment on table brand_turns is
  'when a sender last claimed a block of a campaign of the brand for a provider; written as campaign_turns is';
`;

export const down = `
drop table brand_turns, campaign_turns;
`;
