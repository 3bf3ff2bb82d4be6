/**
 * SQL: whether a message answers a mail that an inbox received, so that its subject and the name of its recipient may be
 * texts of a stranger. The answer in a conversation that was deleted still names the mail in its headers, as do answers
 * that clients send themselves.
 * @param m the alias of the message
 */
export const answersMailSql = (m: string): string => `(
  exists (
    select 1 from conversation_messages a
    where a.brand_id = ${m}.brand_id and a.message_id = ${m}.id and a.direction = 'outbound')
  or exists (select 1 from flow_runs r where r.id = ${m}.flow_run_id and r.event -> 'mail' <> 'null')
  or exists (select 1 from message_contents h where h.message_id = ${m}.id and h.headers ? 'In-Reply-To'))`;
