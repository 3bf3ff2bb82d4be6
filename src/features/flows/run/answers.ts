/** Limits how often flows answer the mail of a contact, so that two machines that answer each other stop. */
import { messageClasses } from '../../../delivery/terms/message.ts';
import { RANGE_IDS } from '../../../platform/db/id-ranges.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';

/** Maximum number of emails in 24 hours by which flows answer mail of one contact to one inbox. */
export const MAX_ANSWERS = 5;

/**
 * The contact's newest messages are found by address, as for the frequency cap. Messages that wait count from when they
 * were written; one that waits longer than a week does not count once it is sent.
 */
const answersSql = `
  select count(*) >= ${MAX_ANSWERS} as enough from (
    select 1 from messages m join flow_runs r on r.id = m.flow_run_id
    where m.brand_id = $1 and m.to_key = (select c.email_key from contacts c where c.id = $2)
      and m.id >= (
        select coalesce(min(n.n), 0) * ${RANGE_IDS}::bigint from message_ranges n
        where n.closed_at is null or n.closed_at >= $4::timestamptz - interval '8 days')
      and m.class = ${messageClasses.flow} and m.channel = 'email' and not m.test
      and coalesce(m.sent_at, case when m.status in ('queued', 'held', 'unknown') then m.created_at end)
        > $4::timestamptz - interval '24 hours'
      and (r.event -> 'mail' -> 'inbox_id')::bigint = $3
    limit ${MAX_ANSWERS}) answers`;

/** Whether flows of the brand have answered the contact's mail to an inbox often enough. */
export async function hasAnsweredEnough(
  trx: Queryable,
  { brandId, contactId, inboxId, asOf }: { brandId: number; contactId: number; inboxId: number; asOf: Date },
): Promise<boolean> {
  const { rows } = await trx.query<{ enough: boolean }>({
    name: 'flow_answers',
    text: answersSql,
    values: [brandId, contactId, inboxId, asOf],
  });
  return rows[0]?.enough === true;
}
