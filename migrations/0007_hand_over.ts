/** What a sender must know about a queued message before it reads the content. */
export const name = '0007_hand_over';

export const up = `
alter table send_queue
  add column content_bytes integer not null default 0,
  add column connection_losses smallint not null default 0;
comment on column send_queue.content_bytes is
  'bytes of html, text and headers: a sender bounds what it reads at once without reading it';
comment on column send_queue.connection_losses is
  'how often the connection to the provider was lost while this message was transferred; written only then';
`;

export const down = `
alter table send_queue drop column content_bytes, drop column connection_losses;
`;
