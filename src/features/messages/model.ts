import { isIntendedSql } from '../../delivery/ledger/ownership/open-intents.ts';
import { answersMailSql } from '../../delivery/ledger/accept/answered-mail.ts';
import { TEST_PROVIDER } from '../../delivery/ledger/accept/test-messages.ts';
import { openStatuses, statusList } from '../../delivery/terms/message.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { MessageEventRow, MessageRow } from './presenter.ts';

/** SQL: the columns of the message `m`, its content `c`, its letter `l` and its version `v` that a list shows. */
export const messageColumns =
  'm.*, coalesce(c.headers, l.headers) as headers, l.reply_to as several_reply_to, ' +
  'v.subject as version_subject, v.template_id as version_template_id';

/** SQL: joins the stored content `c` of the message `m`. */
const CONTENT_JOIN = 'left join message_contents c on c.message_id = m.id';

/** SQL: joins the letter `l` of the message `m`, by its key: most messages have none. */
const LETTER_JOIN = `left join lateral (
  select s.html, s.text, s.headers, s.reply_to, s.message_ids from letters s where s.id = m.letter_id offset 0) l on true`;

/** SQL: joins the version of a template `v` from which the message `m` is made. */
const VERSION_JOIN = 'left join template_versions v on v.id = m.content_version_id';

/** SQL: joins what {@link messageColumns} reads. */
export const MESSAGE_JOINS = `${CONTENT_JOIN} ${LETTER_JOIN} ${VERSION_JOIN}`;

/** SQL: the subject of the message `m` as lists show it: for a campaign or flow, before it is rendered. */
export const subjectSql = `coalesce(m.subject, (
  select v.subject from template_versions v where v.id = m.content_version_id), '')`;

/** SQL: whether an open intent covers the message `m`. */
export const sendingSql = `(m.status in (${statusList(openStatuses)}) and ${isIntendedSql})`;

/** A message with its stored content. */
export interface FoundMessage extends MessageRow {
  html: string | null;
  text: string | null;
  /** The send-only key that sent it. */
  send_key_id?: number | null;
  /** All copies of its letter, for as long as the letter's content is kept. */
  message_ids: number[] | null;
}

/** @returns null if this brand has no such message */
export async function findMessage(
  client: Queryable,
  tenant: Tenant,
  id: number,
): Promise<FoundMessage | null> {
  const { rows } = await client.query<FoundMessage>(
    `select ${messageColumns}, coalesce(c.html, l.html) as html, coalesce(c.text, l.text) as text, l.message_ids,
       ${sendingSql} as sending, ${answersMailSql('m')} as answers_mail
     from messages m ${MESSAGE_JOINS} where m.brand_id = $1 and m.id = $2`,
    [tenant.brandId, id],
  );
  return rows[0] ?? null;
}

/** Whether a test key or a test run wrote the message. Tests that users and live keys send go to a real provider. */
export const isOfTestKey = ({ test, provider }: Pick<MessageRow, 'test' | 'provider'>): boolean =>
  test && provider === TEST_PROVIDER;

/** Finds the stored events of each attempt, in no particular order. */
export async function findMessageEvents(client: Queryable, id: number): Promise<MessageEventRow[]> {
  const { rows } = await client.query<MessageEventRow>(
    'select type, attempt, occurred_at, data from message_events where message_id = $1',
    [id],
  );
  return rows;
}
