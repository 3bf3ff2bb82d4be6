/** STOP and START are kept forever, so only HELP is searched by age. */
export const name = '0067_kept_sms_keywords';

export const up = `
create index sms_keywords_help on sms_keywords (received_at) where keyword = 'help';
drop index sms_keywords_received;
comment on table sms_keywords is
  'keywords that recipients have sent, so that a repeated callback changes nothing; STOP and START are kept as long as sms_senders, because an old START that came again would end a later opt-out';
`;

export const down = `
create index sms_keywords_received on sms_keywords (received_at);
drop index sms_keywords_help;
comment on table sms_keywords is 'keywords that recipients have sent, so that a repeated callback changes nothing';
`;
