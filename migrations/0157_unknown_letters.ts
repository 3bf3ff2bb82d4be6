/** A flow says whether its letters are sent again if it is unknown whether the provider has them. */
export const name = '0157_unknown_letters';

export const up = `
create index message_events_unknown on message_events (message_id) where type = 'unknown';
comment on index message_events_unknown is 'finds messages that may have been lost; an index of messages would cost each of them';

alter table flows add column unknown text not null default 'leave' check (unknown in ('leave', 'resend'));
comment on column flows.unknown is
  'what happens to a message whose outcome is unknown: leave: it stays unknown; resend: it is handed over again, so that it may arrive twice';
`;

export const down = `
drop index message_events_unknown;
alter table flows drop column unknown;
`;
