/** Removes an index and checks that cost time for every recipient of a campaign and that nothing needs. */
export const name = '0047_campaign_speed';

export const up = `
-- A campaign's messages are found by their blocks, which are ranges of ids, and those to one address by messages_recipient.
drop index messages_campaign;

-- Whoever counts a message locks the contact, so looking for it once more for each row says nothing new.
alter table contact_channel_counts drop constraint contact_channel_counts_contact_id_fkey;
create function forget_contact_counts() returns trigger language plpgsql as $$
begin
  delete from contact_channel_counts where contact_id = any(array(select id from gone));
  return null;
end $$;
create trigger contacts_uncounted after delete on contacts referencing old table as gone
  for each statement execute function forget_contact_counts();
comment on table contact_channel_counts is
  'rows go with their contacts, by a trigger; whoever writes one has locked the contact in the same transaction';
`;

export const down = `
drop trigger contacts_uncounted on contacts;
drop function forget_contact_counts;
alter table contact_channel_counts
  add constraint contact_channel_counts_contact_id_fkey foreign key (contact_id) references contacts on delete cascade;
create index messages_campaign on messages (campaign_id, to_key) where campaign_id is not null;
`;
