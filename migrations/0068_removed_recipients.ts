/**
 * Recipients of a campaign whose addresses were cleared with their contacts before all of its recipients were written.
 */
export const name = '0068_removed_recipients';

export const up = `
create table campaign_removed_recipients (
  campaign_id bigint not null,
  address_hash bytea not null,
  primary key (campaign_id, address_hash)
);
comment on table campaign_removed_recipients is
  'addresses of deleted contacts that a campaign has written to and must not write to again; kept during its snapshot';

create function removed_recipient_hash(campaign_id bigint, key text) returns bytea stable parallel safe language sql as
  $$ select sha256(convert_to($1::text || ':' || $2, 'UTF8')) $$;
`;

export const down = `
drop function removed_recipient_hash;
drop table campaign_removed_recipients;
`;
