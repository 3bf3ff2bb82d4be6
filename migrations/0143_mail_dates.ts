/** When mail says that it was written. Adding the column rewrites no table. */
export const name = '0143_mail_dates';

export const up = `
alter table conversation_messages add column date_header timestamptz;
comment on column conversation_messages.date_header is
  'the Date field; null: it is missing or cannot be read, the message is outbound, or an earlier version wrote the row';
`;

export const down = `
alter table conversation_messages drop column date_header;
`;
