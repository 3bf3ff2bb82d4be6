/** Hands messages over once more of which it is unknown whether the provider has them, because a client asks for it. */
import { parseEmailAddress } from '../../delivery/terms/addresses/email.ts';
import { type BrandSenders, readSenders } from '../../delivery/terms/sender-identity.ts';
import { findSmsSender, type SmsSender } from '../../delivery/terms/sms-senders.ts';
import {
  findUnknownOfFlow,
  requeueUnknownOfFlow,
  type ResentMessages,
  type UnknownMessage,
} from '../../delivery/ledger/release/resend-of-flow.ts';
import { AppError } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { requireActivator } from './checks.ts';
import { lockForRequest } from './find.ts';
import { flowTransitions } from './transitions.ts';

/** Maximum number of messages that one request queues. */
const MAX_RESENT = 20_000;

type Route = Pick<ResentMessages, 'domainId' | 'providerId'>;

/** How mail from an address leaves now. @returns null if the brand may no longer send from it */
function routeOfEmail(senders: BrandSenders, from: string): Route | null {
  const address = parseEmailAddress(from);
  const identity = 'error' in address ? null : senders.resolve(address);
  return identity === 'sandbox' ? { domainId: null, providerId: null } : identity;
}

/**
 * How texts from a number or name leave now. Another brand may have a number that this one has lost, and answers to it
 * would be taken for its own.
 */
function routeOfSms(sender: SmsSender | null, from: string | null): Route | null {
  if (from === null) return { domainId: null, providerId: null };
  return sender?.from === from ? { domainId: null, providerId: sender.providerId } : null;
}

/** How messages leave now, by their sender. @returns null if the brand may no longer use it */
type RouteOf = (message: UnknownMessage) => Route | null;

async function createRouteOf(db: Queryable, scope: BrandScope, mailDomain: string): Promise<RouteOf> {
  const senders = await readSenders(db, scope, mailDomain, 'verified or lost');
  const smsSender = await findSmsSender(db, scope.brandId);
  return ({ channel, from }) =>
    channel === 'email' ? routeOfEmail(senders, from ?? '') : routeOfSms(smsSender, from);
}

/**
 * Queues messages of a flow once more whose outcome is unknown. Wake `send` with the backlogs after the commit.
 * @param mailDomain the setting MAIL_DOMAIN
 * @returns how many were queued; if there are more, the next request continues
 * @throws AppError not_found, invalid_transition, forbidden; sender_not_verified if that is why none is queued
 */
export async function resendUnknown(
  trx: Queryable,
  mailDomain: string,
  tenant: Tenant,
  id: number,
): Promise<{ requeued: number; backlogs: string[] }> {
  const row = await lockForRequest(trx, tenant, id, null);
  await requireActivator(trx, tenant);
  flowTransitions.requireAllowed(row, 'resend_unknown');
  const routeOf = await createRouteOf(trx, tenant, mailDomain);
  const total = { requeued: 0, backlogs: [] as string[] };
  let lost: string | null = null;
  const found = await findUnknownOfFlow(trx, id, MAX_RESENT);
  const bySender = Map.groupBy(found, ({ channel, from }) => `${channel} ${from}`);
  for (const group of bySender.values()) {
    const [first] = group as [UnknownMessage, ...UnknownMessage[]];
    const route = routeOf(first);
    if (route) {
      const messages = { channel: first.channel, messageIds: group.map((message) => message.id) };
      const queued = await requeueUnknownOfFlow(trx, { accountId: row.account_id, ...route, ...messages });
      total.requeued += queued.requeued;
      total.backlogs.push(...queued.backlogs);
    } else lost = first.from;
  }
  if (lost !== null && total.requeued === 0) {
    throw new AppError('sender_not_verified', `the brand may no longer send from ${lost}`);
  }
  return total;
}
