import { parseEmailAddress } from '../../delivery/addresses/email.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** A mail of the service's own, as plain text; a paragraph may have several lines. */
export interface OwnerNotice {
  subject: string;
  paragraphs: string[];
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function toHtml(paragraph: string): string {
  const escaped = paragraph.replace(/[&<>"]/g, (character) => entities[character] ?? character);
  return `<p>${escaped.replaceAll('\n', '<br>\n')}</p>`;
}

/** The two forms of a letter: they say the same. */
export function renderNotice({ paragraphs }: OwnerNotice): { html: string; text: string } {
  return { html: `${paragraphs.map(toHtml).join('\n')}\n`, text: `${paragraphs.join('\n\n')}\n` };
}

/** Users may have been made with an address that no mail can reach: they get none. */
async function ownersOf(client: Queryable, accountId: number): Promise<{ to: string; toKey: string }[]> {
  const { rows } = await client.query<{ email: string }>(
    `select u.email from memberships m join users u on u.id = m.user_id
     where m.account_id = $1 and m.role = 'owner' order by u.id`,
    [accountId],
  );
  return rows.flatMap(({ email }) => {
    const parsed = parseEmailAddress(email);
    return 'error' in parsed ? [] : [{ to: parsed.address, toKey: parsed.key }];
  });
}

/**
 * The system account's first brand sends. It counts in nobody's allowance, tells no webhook, and is in no
 * customer's lists.
 */
const acceptSql = `
  with sender as (
    select a.id as account_id, b.id as brand_id from accounts a join brands b on b.account_id = a.id
    where a.kind = 'system' order by b.id limit 1
  ), input as materialized (
    select nextval(pg_get_serial_sequence('messages', 'id')) as id, i.*
    from json_to_recordset($1) as i ("to" text, "toKey" text)
  ), written as (
    insert into messages (id, account_id, brand_id, channel, status, to_address, to_key, from_address, subject)
    select i.id, s.account_id, s.brand_id, 'email', 'queued', i."to", i."toKey", $2, $3 from input i cross join sender s
    returning id, account_id
  ), contents as (
    insert into message_contents (message_id, html, text) select id, $4, $5 from written
  )
  insert into send_queue (message_id, account_id, channel, class, due_at, queued_at)
  select id, account_id, 'email', 0, now(), now() from written`;

/**
 * Write to the owners of an account, as part of the caller's transaction: an ordinary message to each, which the
 * sender takes from the queue. Call `waker.wake('send')` after the commit where there are any.
 * @param client inside the caller's transaction
 * @param from of {@link systemSender}
 * @returns how many were accepted
 */
export async function mailOwners(
  client: Queryable,
  accountId: number,
  from: string,
  letter: OwnerNotice,
): Promise<number> {
  const owners = await ownersOf(client, accountId);
  if (owners.length === 0) return 0;
  const { html, text } = renderNotice(letter);
  const { rowCount } = await client.query(acceptSql, [
    JSON.stringify(owners),
    from,
    letter.subject,
    html,
    text,
  ]);
  return rowCount ?? 0;
}
