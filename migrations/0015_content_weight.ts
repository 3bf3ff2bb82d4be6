/** How long a message may take to compose, known before its content is read. */
export const name = '0015_content_weight';

export const up = `
alter table send_queue add column content_weight integer not null default 0;
comment on column send_queue.content_weight is
  'bytes of html, text and headers; headers count five times, and so does html without text. Heavy messages take turns';
`;

export const down = `
alter table send_queue drop column content_weight;
`;
