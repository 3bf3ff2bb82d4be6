/** The text in SMS of campaigns and flows that explains how to unsubscribe. */
export const name = '0040_sms_stop_text';

export const up = `
alter table brands add column sms_stop_text text;
comment on column brands.sms_stop_text is 'at the end of each SMS of a campaign or flow; null: nothing is added';
`;

export const down = `
alter table brands drop column sms_stop_text;
`;
