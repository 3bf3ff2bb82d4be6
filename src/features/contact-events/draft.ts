import { parseEmailAddress } from '../../delivery/terms/addresses/email.ts';
import { isTestCaller, type Tenant } from '../../platform/auth/tenant.ts';
import { type Client, describeClient, findUtm, type Utm } from './enrichment.ts';
import type { TrackEventBody } from './schema.ts';

/** A mail that caused an event, itself or through flows. What a flow sends because of the event answers the mail. */
export interface CausingMail {
  conversation_message_id: number;
  inbox_id: number;
  auto_submitted: boolean;
}

/** The columns of an event from a request. Its contact is not looked up yet. */
export interface EventDraft extends Client, Utm {
  account_id: number;
  brand_id: number;
  event: string;
  /** How the request names the contact: by at least one of these. */
  contact_id: number | null;
  email: { address: string; key: string } | null;
  test: boolean;
  /** Whether a test key sent it. Test and live keys do not share idempotency keys. */
  test_key: boolean;
  user_id: number | null;
  amount: number | null;
  data: Record<string, unknown> | null;
  idempotency_key: string | null;
  resource_uid: string | null;
  resource_name: string | null;
  resource_url: string | null;
  ip: string | null;
  user_agent: string | null;
  referrer: string | null;
  occurred_at: Date | null;
  /** Number of flow runs that led to it, one after another; 0 if no flow tracked it. */
  chain_depth: number;
  /** Whether a flow or Carillon itself tracked it. */
  generated: boolean;
  /** Whether it is no interaction of the contact, and does not change `last_interacted_at`. */
  passive: boolean;
  mail: CausingMail | null;
  /** Whether there is such a mail; null for events of clients. */
  caused_by_mail: boolean | null;
}

/** The origin of an event: a client, a flow, or Carillon itself. */
export interface EventSource {
  accountId: number;
  brandId: number;
  /** Whether it comes from a test key or a test run. */
  test: boolean;
  userId: number | null;
  chainDepth: number;
  generated: boolean;
  /** Null: no mail caused the event. */
  mail: CausingMail | null;
}

export function clientSource({ accountId, brandId, actor }: Tenant): EventSource {
  const userId = actor.kind === 'user' ? actor.id : null;
  const test = isTestCaller(actor);
  return { accountId, brandId, test, userId, chainDepth: 0, generated: false, mail: null };
}

function emailOf(text: string | undefined): EventDraft['email'] {
  const parsed = text === undefined ? null : parseEmailAddress(text);
  return parsed && !('error' in parsed) ? { address: parsed.address, key: parsed.key } : null;
}

/**
 * @param idempotencyKey from the header or the body
 * @param passive whether it is no interaction of the contact
 */
export function draftEvent(
  { accountId, brandId, test: testKey, userId, chainDepth, generated, mail }: EventSource,
  body: TrackEventBody,
  idempotencyKey: string | null,
  passive = false,
): EventDraft {
  return {
    account_id: accountId,
    brand_id: brandId,
    event: body.event,
    contact_id: body.contact_id ?? null,
    email: emailOf(body.contact_email),
    test: body.test || testKey,
    test_key: testKey,
    user_id: userId,
    amount: body.amount ?? null,
    data: body.data ?? null,
    idempotency_key: idempotencyKey,
    resource_uid: body.resource_uid ?? null,
    resource_name: body.resource_name ?? null,
    resource_url: body.resource_url ?? null,
    ip: body.ip ?? null,
    user_agent: body.user_agent ?? null,
    referrer: body.referrer ?? null,
    occurred_at: body.occurred_at === undefined ? null : new Date(body.occurred_at),
    chain_depth: chainDepth,
    generated,
    passive,
    mail,
    caused_by_mail: generated ? mail !== null : null,
    ...describeClient(body.user_agent),
    ...findUtm(body, body),
  };
}
