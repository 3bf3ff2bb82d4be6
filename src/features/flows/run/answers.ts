/** Limits how often flows answer the mail of a contact, so that two machines that answer each other stop. */
import { messageClasses } from '../../../delivery/terms/message.ts';
import { RANGE_IDS } from '../../../platform/db/id-ranges.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';

/** Maximum number of emails in 24 hours by which flows answer mail of one contact to one inbox. */
export const MAX_ANSWERS = 5;

/** The mail of a contact that a flow is about to answer. */
export interface AnsweredMail {
  brandId: number;
  contactId: number;
  inboxId: number;
}

/**
 * The contacts' newest messages are found by address, as for the frequency cap. Messages that wait count from when they
 * were written; one that waits longer than a week does not count once it is sent.
 */
const answersSql = `
  select c.id from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as a (brand_id, contact_id, inbox_id)
  join contacts c on c.id = a.contact_id
  where (select count(*) from (
    select 1 from messages m join flow_runs r on r.id = m.flow_run_id
    where m.brand_id = a.brand_id and m.to_key = c.email_key
      and m.id >= (
        select coalesce(min(n.n), 0) * ${RANGE_IDS}::bigint from message_ranges n
        where n.closed_at is null or n.closed_at >= $4::timestamptz - interval '8 days')
      and m.class = ${messageClasses.flow} and m.channel = 'email' and not m.test
      and coalesce(m.sent_at, case when m.status in ('queued', 'held', 'unknown') then m.created_at end)
        > $4::timestamptz - interval '24 hours'
      and (r.event -> 'mail' -> 'inbox_id')::bigint = a.inbox_id
    limit ${MAX_ANSWERS}) answers) >= ${MAX_ANSWERS}`;

/** Finds the contacts whose mail flows of their brand have answered often enough. @returns their ids */
export async function findAnsweredEnough(
  trx: Queryable,
  mails: readonly AnsweredMail[],
  asOf: Date,
): Promise<Set<number>> {
  const { rows } = await trx.query<{ id: number }>({
    name: 'contacts_answered_enough',
    text: answersSql,
    values: [
      mails.map(({ brandId }) => brandId),
      mails.map(({ contactId }) => contactId),
      mails.map(({ inboxId }) => inboxId),
      asOf,
    ],
  });
  return new Set(rows.map(({ id }) => id));
}
