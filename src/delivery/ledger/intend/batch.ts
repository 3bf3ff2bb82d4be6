import type { Queryable } from '../../../platform/db/queryable.ts';
import type { Keyring } from '../../../platform/secrets/keyring.ts';
import type { Refusal } from '../limits/authority.ts';
import type { LetterPart } from '../../terms/letter.ts';
import type { Channel, SkipCode } from '../../terms/message.ts';
import type { AnsweredMail } from '../../content/mime/answer-headers.ts';
import type { LetterRoutes } from './reroute-letters.ts';
import type { ClaimId } from '../ownership/claims.ts';
import type { MessageTracking } from '../../content/mime/tracked-links.ts';

/** A message of a batch, with everything needed to compose it. */
export interface BatchMessage {
  messageId: number;
  attempt: number;
  /** The epoch of the claim under which the message is handed over. */
  epoch: number;
  /** Whether an earlier attempt has no known outcome, so that the message may have arrived. */
  uncertain: boolean;
  /** Whether the message is handed over again if its outcome is unknown, because its flow says so. */
  resends?: boolean | null;
  /** Whether the message has reserved its price. */
  priced?: boolean;
  /** `send`, or the reason for not sending: a limit, or a reason that only campaigns and flows have. */
  verdict: 'send' | Refusal | CampaignRefusal;
  accountId: number;
  brandId: number;
  /** Whether the account has contacts, so that the recipient may be one. */
  hasContacts: boolean;
  /** The sending domain; null: an address of the service, or an SMS. */
  domainId: number | null;
  channel: Channel;
  class: number;
  providerId: number;
  queuedAt: Date;
  createdAt: Date;
  to: string;
  from: string | null;
  replyTo: string | null;
  subject: string | null;
  html: string | null;
  text: string | null;
  headers: Record<string, string> | null;
  tags: Record<string, string> | null;
  tracking: MessageTracking | null;
  idempotencyKey: string | null;
  segments: number | null;
  /**
   * The version that the message was rendered from, if its content is stored; else the version that it is rendered from
   * when it is composed.
   */
  contentVersionId: number | null;
  /** Set for messages of campaigns; else null. */
  campaign: CampaignPart | null;
  /** Set for messages of flows. */
  flow?: FlowPart | null;
  /** Set for the copies of a letter. */
  letter?: LetterPart | null;
}

/**
 * Why a message of a campaign or flow is not sent now: the campaign or flow is not active, or has ended for the
 * message.
 */
export type StoppedRefusal = 'campaign_stopped' | 'flow_stopped' | 'flow_ended';

/**
 * Why a message of a campaign or flow is not sent, apart from limits: {@link StoppedRefusal}, or the recipient is
 * skipped.
 */
export type CampaignRefusal =
  StoppedRefusal | Extract<SkipCode, 'unsubscribed' | 'contact_deleted' | 'no_address' | 'no_price'>;

/** Additional fields of a campaign's message. */
export interface CampaignPart {
  id: number;
  name: string;
  /** The variant of an A/B test, from 0. */
  variant: number;
  contactId: number;
  /**
   * Values of the contact, by the paths that the version names, such as `first_name` and `data.plan`. Paths without a
   * value are absent. Texts are cut to 2,048 characters; longer objects and arrays are absent.
   */
  contact: Record<string, unknown>;
}

/** Additional fields of a flow's message. */
export interface FlowPart extends Pick<CampaignPart, 'id' | 'contact'> {
  /** Null if no flow run wrote the message. */
  contactId: number | null;
  /** What contents read as `event`: the event that started the run. */
  event: Record<string, unknown> | null;
  /** The mail that the message answers; null: it answers none. */
  answers: AnsweredMail | null;
}

export interface BatchRequest {
  owner: number;
  /** Identifies the intent among those of the owner, which never uses a number twice. */
  seq: number;
  provider: string;
  /** How long a message waits for a report before it is handed over again if this process dies; by default 0. */
  reportSeconds?: number;
  claims: readonly ClaimId[];
  /** Whether a suppression of `ada@example.com` also covers `ada+news@example.com`, and vice versa. */
  plusAddresses?: boolean;
  /** Recognizes opt-outs that are known only by an HMAC. */
  keyring: Pick<Keyring, 'subkey' | 'accepted'>;
  /** For letters that their provider cannot take; by default there is no provider in the setting. */
  routes?: Omit<LetterRoutes, 'claimed'>;
}

/**
 * Removes intents of a live owner that the owner does not know, because the reply to their commit was lost. No message
 * was handed over under them.
 * @param liveSeqs the intents that the owner is working on
 */
export async function dropUnknownIntents(
  client: Queryable,
  owner: number,
  liveSeqs: number[],
): Promise<void> {
  await client.query(
    `delete from handovers where owner = $1 and seq <> all($2::bigint[]) and intended_at < now() - interval '10 seconds'`,
    [owner, liveSeqs],
  );
}
