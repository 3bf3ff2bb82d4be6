import type { VersionContent } from '../../delivery/content/templates/content.ts';
import type { Channel } from '../../delivery/terms/message.ts';
import { pinRoute } from './pinned-route.ts';
import { readSenders, senderOf } from '../../delivery/terms/sender-identity.ts';
import { findSmsSender } from '../../delivery/terms/sms-senders.ts';
import type { TrackingDefaults } from '../../delivery/ledger/accept/route.ts';
import { Problems } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Pins } from './pins.ts';

export interface SenderDeps {
  mailDomain: string;
  tracking: TrackingDefaults;
}

/** The sender of a campaign, and how its messages are sent. */
export type PinnedSender = Pick<Pins, 'fromAddress' | 'replyTo' | 'domainId' | 'providerId' | 'tracking'> & {
  /** Whether the sender is the account's sandbox, which has a monthly limit. */
  isSandbox: boolean;
};

type Content = Pick<VersionContent, 'fromName' | 'fromEmail' | 'replyTo'>;

/** Formats a display name as a quoted string of RFC 5322. */
function withName(name: string | null, address: string): string {
  if (name === null || name.trim() === '') return address;
  return `"${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}" <${address}>`;
}

async function accountSender(db: Queryable, accountId: number) {
  const { rows } = await db.query<{ name: string | null; replyTo: string | null }>(
    'select email_from_name as name, email_reply_to as "replyTo" from accounts where id = $1',
    [accountId],
  );
  return rows[0] ?? { name: null, replyTo: null };
}

/** A sender before a provider is chosen. `providerId` is that of its domain or number; null if they name none. */
type FoundSender = Omit<PinnedSender, 'providerId' | 'tracking'> & { providerId: number | null };

type FindSender = (
  db: Queryable,
  scope: BrandScope,
  mailDomain: string,
  content: Content,
  problems: Problems,
) => Promise<FoundSender>;

const findEmailSender: FindSender = async (db, scope, mailDomain, content, problems) => {
  const senders = await readSenders(db, scope, mailDomain);
  const account = await accountSender(db, scope.accountId);
  const { address, identity: found } = senderOf(senders, content.fromEmail);
  if (found === null) {
    const message = 'is not a verified sender of this brand';
    problems.add({ 'template_attributes.from_email': [message] }, 'sender_not_verified');
  }
  const identity = found ?? 'sandbox';
  const { domainId, providerId } = identity === 'sandbox' ? { domainId: null, providerId: null } : identity;
  return {
    fromAddress: withName(content.fromName ?? account.name, address),
    replyTo: content.replyTo ?? account.replyTo,
    isSandbox: identity === 'sandbox',
    domainId,
    providerId,
  };
};

const findNumber: FindSender = async (db, { brandId }) => {
  const sender = await findSmsSender(db, brandId);
  return {
    fromAddress: sender?.from ?? null,
    replyTo: null,
    isSandbox: false,
    domainId: null,
    providerId: sender?.providerId ?? null,
  };
};

const findSender: Readonly<Record<Channel, FindSender>> = { email: findEmailSender, sms: findNumber };

/**
 * Resolves the sender of a campaign as POST /messages does, and chooses the provider and the tracking.
 * @param problems receives `sender_not_verified`
 */
export async function pinSender(
  db: Queryable,
  deps: SenderDeps,
  scope: BrandScope,
  channel: Channel,
  content: Content,
  problems: Problems,
): Promise<PinnedSender> {
  const sender = await findSender[channel](db, scope, deps.mailDomain, content, problems);
  const { domainId, providerId } = sender;
  return { ...sender, ...(await pinRoute(db, { ...scope, channel, domainId, providerId }, deps.tracking)) };
}

/**
 * Returns the sender of a campaign with this content, even if sending it would be refused.
 * @returns null if the provider chooses the sender
 */
export async function senderText(
  db: Queryable,
  { mailDomain }: Pick<SenderDeps, 'mailDomain'>,
  scope: BrandScope,
  channel: Channel,
  content: Content,
): Promise<string | null> {
  const { fromAddress } = await findSender[channel](db, scope, mailDomain, content, new Problems());
  return fromAddress;
}

/** The content that a campaign will have after the request. */
export interface ContentSource {
  /** Its template, or the template that it copies. */
  templateId: number | null;
  /** Undefined if the request keeps the template's address. */
  fromEmail?: string | null | undefined;
}

/** Whether a campaign with this content is sent from the sandbox. */
export async function usesSandbox(
  db: Queryable,
  { mailDomain }: Pick<SenderDeps, 'mailDomain'>,
  scope: BrandScope,
  { templateId, fromEmail }: ContentSource,
): Promise<boolean> {
  let address = fromEmail;
  if (address === undefined) {
    const { rows } = await db.query<{ from_email: string | null }>(
      'select from_email from templates where id = $1 and brand_id = $2',
      [templateId, scope.brandId],
    );
    address = rows[0]?.from_email ?? null;
  }
  return senderOf(await readSenders(db, scope, mailDomain), address).identity === 'sandbox';
}
