/**
 * Marks the answers in conversations: once a conversation is deleted, nothing else says so. A message that a sender holds
 * is left out, so that neither waits for the other.
 */
export const name = '0127_earlier_answers';

export const up = `
with answer as materialized (
  select m.id from conversation_messages a join messages m on m.id = a.message_id
  where a.direction = 'outbound' order by m.id for no key update of m skip locked
)
update messages m set answers_mail = true from answer where m.id = answer.id;
`;

/** The column goes with the migration before. */
export const down = 'select 1';
