/** Which events mail has caused, and which messages answer mail. Adding the columns rewrites no table. */
export const name = '0126_caused_by_mail';

export const up = `
alter table contact_events add column caused_by_mail boolean;
comment on column contact_events.caused_by_mail is
  'whether mail caused an event that a flow or Carillon tracked, itself or through flows; null: a client tracked it, or it is from before this was kept';
alter table messages add column answers_mail boolean;
comment on column messages.answers_mail is
  'true: it answers mail that an inbox received, or its headers say so; null: it does not, or it is from before this was kept';
`;

export const down = `
alter table messages drop column answers_mail;
alter table contact_events drop column caused_by_mail;
`;
