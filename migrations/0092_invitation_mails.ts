/** How often invitations were mailed, and their list. */
export const name = '0092_invitation_mails';

export const up = `
alter table invitations add column mail_count smallint not null default 0;
comment on column invitations.mail_count is 'mails with the invitation, which limits how often it is sent again';
create index invitations_account on invitations (account_id, id desc);
create index password_resets_age on password_resets (expires_at);
`;

export const down = `
drop index password_resets_age;
drop index invitations_account;
alter table invitations drop column mail_count;
`;
