/**
 * SQL: whether a message answers a mail that an inbox received, so that its subject and the name of its recipient may be
 * texts of a stranger. The answer in a conversation that was deleted still names the mail in its headers, as do answers
 * that clients send themselves. Each part is a look-up by key: PostgreSQL could hash a whole table for an `exists`.
 * @param m the alias of the message
 */
export const answersMailSql = (m: string): string => `(
  (select true from conversation_messages a
    where a.brand_id = ${m}.brand_id and a.message_id = ${m}.id and a.direction = 'outbound' limit 1) is true
  or (select r.event -> 'mail' <> 'null' from flow_runs r where r.id = ${m}.flow_run_id) is true
  or (select h.headers ? 'In-Reply-To' from message_contents h where h.message_id = ${m}.id) is true)`;
