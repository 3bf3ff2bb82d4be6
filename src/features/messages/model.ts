import { isIntendedSql } from '../../delivery/ledger/ownership/open-intents.ts';
import { answersMailSql } from '../../delivery/ledger/accept/answered-mail.ts';
import { openStatuses, statusList } from '../../delivery/terms/message.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { MessageEventRow, MessageRow } from './presenter.ts';

/** SQL: the columns of the message `m`, its content `c` and its version `v` that a list shows. */
export const messageColumns =
  'm.*, c.headers, v.subject as version_subject, v.template_id as version_template_id';

/** SQL: joins the version of a template `v` from which the message `m` is made. */
export const VERSION_JOIN = 'left join template_versions v on v.id = m.content_version_id';

/** SQL: the subject of the message `m` as lists show it: for a campaign or flow, before it is rendered. */
export const subjectSql = `coalesce(m.subject, (
  select v.subject from template_versions v where v.id = m.content_version_id), '')`;

/** SQL: whether an open intent covers the message `m`. */
export const sendingSql = `(m.status in (${statusList(openStatuses)}) and ${isIntendedSql})`;

/** @returns null if this brand has no such message */
export async function findMessage(
  client: Queryable,
  tenant: Tenant,
  id: number,
): Promise<(MessageRow & { html: string | null; text: string | null }) | null> {
  const { rows } = await client.query<MessageRow & { html: string | null; text: string | null }>(
    `select ${messageColumns}, c.html, c.text, ${sendingSql} as sending, ${answersMailSql('m')} as answers_mail
     from messages m left join message_contents c on c.message_id = m.id ${VERSION_JOIN}
     where m.brand_id = $1 and m.id = $2`,
    [tenant.brandId, id],
  );
  return rows[0] ?? null;
}

/** Finds the stored events of each attempt, in no particular order. */
export async function findMessageEvents(client: Queryable, id: number): Promise<MessageEventRow[]> {
  const { rows } = await client.query<MessageEventRow>(
    'select type, attempt, occurred_at, data from message_events where message_id = $1',
    [id],
  );
  return rows;
}
