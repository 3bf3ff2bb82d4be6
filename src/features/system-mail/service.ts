import { type Config, DEFAULT_MAIL_DOMAIN } from '../../config.ts';
import { parseEmailAddress } from '../../delivery/terms/addresses/email.ts';
import { messageClasses } from '../../delivery/terms/message.ts';
import { allocateMessageIds, writeMessages } from '../../delivery/ledger/accept/write-messages.ts';
import { systemSender } from '../../delivery/terms/sender-identity.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** A mail from the installation, as plain text. A paragraph may have several lines. */
export interface Notice {
  subject: string;
  paragraphs: string[];
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function toHtml(paragraph: string): string {
  const escaped = paragraph.replace(/[&<>"]/g, (character) => entities[character] ?? character);
  return `<p>${escaped.replaceAll('\n', '<br>\n')}</p>`;
}

/** Renders the HTML and the text of a notice, with the same wording. */
function renderNotice({ paragraphs }: Notice): { html: string; text: string } {
  return { html: `${paragraphs.map(toHtml).join('\n')}\n`, text: `${paragraphs.join('\n\n')}\n` };
}

interface Recipient {
  email: string;
  sender_account_id: number;
  sender_brand_id: number;
}

/** SQL: the brand that sends: the first one of the system account. */
const SENDER = `
  select a.id as sender_account_id, b.id as sender_brand_id from accounts a join brands b on b.account_id = a.id
  where a.kind = 'system' order by b.id limit 1`;

async function findOwners(client: Queryable, accountId: number): Promise<Recipient[]> {
  const { rows } = await client.query<Recipient>(
    `with sender as (${SENDER})
     select u.email, sender.* from memberships m join users u on u.id = m.user_id cross join sender
     where m.account_id = $1 and m.role = 'owner' order by u.id`,
    [accountId],
  );
  return rows;
}

/** Writes a message to each recipient whose address can receive mail, and returns the ids of the messages. */
async function writeNotices(
  client: Queryable,
  recipients: readonly Recipient[],
  from: string,
  notice: Notice,
): Promise<number[]> {
  const reachable = recipients.flatMap((recipient) => {
    const address = parseEmailAddress(recipient.email);
    return 'error' in address ? [] : [{ recipient, address }];
  });
  if (reachable.length === 0) return [];
  const ids = await allocateMessageIds(client, reachable.length);
  const content = { subject: notice.subject, ...renderNotice(notice) };
  const messages = reachable.map(({ recipient, address }, index) => ({
    id: ids[index] ?? 0,
    account_id: recipient.sender_account_id,
    brand_id: recipient.sender_brand_id,
    channel: 'email' as const,
    status: 'queued' as const,
    test: false,
    to_address: address.address,
    to_key: address.key,
    from_address: from,
    ...content,
  }));
  await writeMessages(client, messages, { source: { class: messageClasses.transactional } });
  return ids;
}

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
  notice: Notice,
): Promise<number> {
  const ids = await writeNotices(client, await findOwners(client, accountId), from, notice);
  return ids.length;
}

/**
 * Sends a mail with a secret link to one address, as {@link mailOwners} does. It is not tracked, and a worker removes
 * its content as soon as it is sent. The subject stays, so it must not contain the secret.
 * @returns the number of messages: 0 if the address cannot receive mail
 */
export async function mailSecret(
  client: Queryable,
  to: string,
  from: string,
  notice: Notice,
): Promise<number> {
  const { rows } = await client.query<Omit<Recipient, 'email'>>(SENDER);
  const recipients = rows.map((sender) => ({ ...sender, email: to }));
  const ids = await writeNotices(client, recipients, from, notice);
  await client.query('insert into secret_mails (message_id) select unnest($1::bigint[])', [ids]);
  return ids.length;
}

/** How links that sign a person in, or create a user, reach people. */
export interface LinkDelivery {
  /** PUBLIC_URL; null if it is not set. Links never contain the host of a request. */
  publicUrl: string | null;
  /** The sender of mails with links; null if none are sent: without PUBLIC_URL, or without a MAIL_DOMAIN of its own. */
  from: string | null;
}

/** @throws ConfigError if SYSTEM_FROM is not an address */
export function linkDelivery(
  config: Pick<Config, 'PUBLIC_URL' | 'MAIL_DOMAIN' | 'SYSTEM_FROM'>,
): LinkDelivery {
  const publicUrl = config.PUBLIC_URL ?? null;
  const canMail = publicUrl !== null && config.MAIL_DOMAIN.toLowerCase() !== DEFAULT_MAIL_DOMAIN;
  return { publicUrl, from: canMail ? systemSender(config) : null };
}
