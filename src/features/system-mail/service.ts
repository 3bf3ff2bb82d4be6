import { parseEmailAddress } from '../../delivery/addresses/email.ts';
import { messageClasses } from '../../delivery/message.ts';
import { allocateMessageIds, writeMessages } from '../../delivery/accept/write-messages.ts';
import { defineWriting } from '../../delivery/accept/write-statement.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** A notice from the operator to the owners of an account, as plain text. A paragraph may have several lines. */
export interface OwnerNotice {
  subject: string;
  paragraphs: string[];
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function toHtml(paragraph: string): string {
  const escaped = paragraph.replace(/[&<>"]/g, (character) => entities[character] ?? character);
  return `<p>${escaped.replaceAll('\n', '<br>\n')}</p>`;
}

/** Renders the HTML and the text of a notice, with the same wording. */
function renderNotice({ paragraphs }: OwnerNotice): { html: string; text: string } {
  return { html: `${paragraphs.map(toHtml).join('\n')}\n`, text: `${paragraphs.join('\n\n')}\n` };
}

interface Owner {
  email: string;
  sender_account_id: number;
  sender_brand_id: number;
}

/** The owners of an account, each with the brand that sends to them: the first one of the system account. */
async function findOwners(client: Queryable, accountId: number): Promise<Owner[]> {
  const { rows } = await client.query<Owner>(
    `with sender as (
       select a.id as sender_account_id, b.id as sender_brand_id from accounts a join brands b on b.account_id = a.id
       where a.kind = 'system' order by b.id limit 1
     )
     select u.email, sender.* from memberships m join users u on u.id = m.user_id cross join sender
     where m.account_id = $1 and m.role = 'owner' order by u.id`,
    [accountId],
  );
  return rows;
}

export const noticeStatement = defineWriting({
  from: import.meta.url,
  sentBy: 'mailOwners',
  does: 'Writes the notices to the owners of an account.',
  shapes: [{}],
});

/**
 * Sends a notice to the owners of an account, in the caller's transaction. Each owner gets an ordinary transactional
 * message from the system account, which counts against no limit, triggers no webhook and does not show in any
 * customer's lists. Owners whose address cannot receive mail are skipped.
 *
 * Call `waker.wake('send')` after the commit if there are any messages.
 * @param client inside the caller's transaction
 * @param from the sender, from {@link systemSender}
 * @returns the number of messages
 */
export async function mailOwners(
  client: Queryable,
  accountId: number,
  from: string,
  notice: OwnerNotice,
): Promise<number> {
  const owners = await findOwners(client, accountId);
  const recipients = owners.flatMap((owner) => {
    const address = parseEmailAddress(owner.email);
    return 'error' in address ? [] : [{ owner, address }];
  });
  if (recipients.length === 0) return 0;
  const ids = await allocateMessageIds(client, recipients.length);
  const content = { subject: notice.subject, ...renderNotice(notice) };
  const messages = recipients.map(({ owner, address }, index) => ({
    id: ids[index] ?? 0,
    account_id: owner.sender_account_id,
    brand_id: owner.sender_brand_id,
    channel: 'email' as const,
    status: 'queued' as const,
    test: false,
    to_address: address.address,
    to_key: address.key,
    from_address: from,
    ...content,
  }));
  await writeMessages(client, messages, {
    statement: noticeStatement,
    source: { class: messageClasses.transactional },
  });
  return messages.length;
}
