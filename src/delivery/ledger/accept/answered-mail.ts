/** Which messages answer mail, so that their subjects and the names of their recipients may be texts of a stranger. */

/**
 * Whether headers say that a message answers another (RFC 5322 §3.6.4).
 * @param headers by name, in any case
 */
export const isAnswer = (headers: Readonly<Record<string, string>> | null | undefined): boolean =>
  Object.keys(headers ?? {}).some((name) => name.toLowerCase() === 'in-reply-to');

/**
 * SQL: whether a message answers a mail that an inbox received, or names one in its headers, as an answer that a client
 * sends itself does. It is stored with the message. Messages of earlier versions lack that, but what they belong to says
 * it while it exists. Each part is a look-up by key: PostgreSQL could hash a whole table for an `exists`.
 * @param m the alias of the message
 */
export const answersMailSql = (m: string): string => `(
  ${m}.answers_mail is true
  or (select true from conversation_messages a
    where a.brand_id = ${m}.brand_id and a.message_id = ${m}.id and a.direction = 'outbound' limit 1) is true
  or (select r.event -> 'mail' <> 'null' from flow_runs r where r.id = ${m}.flow_run_id) is true
  or (select true from message_contents h cross join jsonb_object_keys(h.headers) k
    where h.message_id = ${m}.id and lower(k) = 'in-reply-to' limit 1) is true)`;
