/** The accepted attempt moves into the message's row, so that a message that is sent at once needs no event row. */
export const name = '0010_message_response';

export const up = `
alter table messages add column sent_attempt smallint, add column response text;
comment on column messages.sent_attempt is 'the attempt that the provider accepted';
comment on column messages.response is 'of the provider, to that attempt';
comment on table message_events is
  'outcomes of attempts that the row of the message does not show. The row shows that an attempt was accepted, when, and with which response. The key makes it harmless to record an outcome twice';
`;

export const down = `
alter table messages drop column sent_attempt, drop column response;
`;
