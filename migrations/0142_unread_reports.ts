/** Reports at return paths that were not understood: mail to an inbox or, without one, to the operator. */
export const name = '0142_unread_reports';

export const up = `
alter table inbound_mails add column report_claims smallint;
comment on column inbound_mails.report_claims is
  'a report that was not understood: how often it was claimed, by processes that know such mail. Null: any other mail';

-- A process of an earlier version would take a report for mail of a contact, so it cannot claim one.
create function skip_report() returns trigger language plpgsql as $$
begin
  return null;
end $$;
create trigger inbound_mails_skip_report before update of attempts on inbound_mails for each row
  when (new.attempts > old.attempts and new.report_claims = old.report_claims)
  execute function skip_report();

alter table operator_mails add column account_id bigint, add column message_id bigint;
comment on table operator_mails is
  'mail for a person to read, of 30 days: to fbl@, abuse@ and postmaster@, and reports at return paths that were not understood. Of each of the two, the newest 50 of each network, and 5,000 in total';
comment on column operator_mails.mailbox is 'fbl, abuse, postmaster or return_path';
comment on column operator_mails.message_id is
  'the message of account_id at whose return path the mail arrived; null: it arrived at a mailbox';
`;

export const down = `
delete from operator_mails where mailbox = 'return_path';
alter table operator_mails drop column message_id, drop column account_id;
comment on table operator_mails is
  'mail to fbl@, abuse@ and postmaster@ for a person to read, of 30 days; a network has a few of them';
comment on column operator_mails.mailbox is null;
drop trigger inbound_mails_skip_report on inbound_mails;
drop function skip_report;
alter table inbound_mails drop column report_claims;
`;
