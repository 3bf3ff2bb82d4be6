/**
 * Indexes of what mail stores, apart from the column, so that mail can be read while they are built. An hourly task fills
 * what earlier versions left out, with the last index.
 */
export const name = '0129_indexes_of_stored_mail';

export const up = `
create index conversation_messages_unproved on conversation_messages (account_id) include (stored_bytes, raw_size)
  where direction = 'inbound' and not sender_trusted and (quarantine is null or quarantine ->> 'released_at' is not null);
create index conversation_messages_evictable on conversation_messages (account_id, id) include (stored_bytes, raw_size)
  where arrived_at is null and quarantine is not null and quarantine ->> 'released_at' is null;
create index conversation_messages_answered on conversation_messages (brand_id, recipient)
  where direction = 'outbound' and recipient is not null;
create index conversation_messages_unfilled on conversation_messages (id)
  where (direction = 'inbound' and stored_bytes is null) or (direction = 'outbound' and recipient is null);
`;

export const down = `
drop index conversation_messages_unproved, conversation_messages_evictable, conversation_messages_answered,
  conversation_messages_unfilled;
`;
