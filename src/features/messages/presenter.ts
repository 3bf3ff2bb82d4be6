import type { z } from 'zod';
import type { HoldReason } from '../../delivery/ledger/limits/authority.ts';
import type { RecipientKind } from '../../delivery/terms/letter.ts';
import { openStatuses } from '../../delivery/terms/message.ts';
import type { NewMessage } from '../../delivery/ledger/accept/new-message.ts';
import type { Interaction } from '../tracking/service.ts';
import type { acceptedMessage, messageDetail, messageResource } from './schema.ts';

export type MessageResource = z.input<typeof messageResource>;
export type AcceptedMessage = z.input<typeof acceptedMessage>;
export type MessageDetail = z.input<typeof messageDetail>;

type Column = Exclude<
  keyof NewMessage,
  'to_address' | 'to_key' | 'default_from' | 'sent_at' | 'delivered_at' | 'answers_mail'
>;

/** A row of `messages`, with the headers of its content. A message that was just written lacks the nullable columns. */
export interface MessageRow extends Pick<NewMessage, Column> {
  to_address: string | null;
  letter_id?: number | null;
  recipient_kind?: RecipientKind | null;
  /** Of a letter with several addresses for replies; `reply_to` is the first. */
  several_reply_to?: string[] | null;
  /** Whether an open intent covers the message. */
  sending?: boolean;
  template_id?: number | null;
  /** Of the version of a template from which the message is made: the subject before it is rendered. */
  version_subject?: string | null;
  version_template_id?: number | null;
  contact_id?: number | null;
  campaign_id?: number | null;
  flow_id?: number | null;
  answers_mail?: boolean | null;
  provider_message_id?: string | null;
  /** The attempt that the provider accepted. */
  sent_attempt?: number | null;
  /** The provider's response to that attempt. */
  response?: string | null;
  hold?: { reason: HoldReason; until: string | null } | null;
  /** The hold of a message that is or was held. */
  last_hold?: { reason: HoldReason; held_at: string; released_at?: string } | null;
  created_at: Date;
  updated_at: Date;
  sent_at?: Date | null;
  delivered_at?: Date | null;
  opened_at?: Date | null;
  clicked_at?: Date | null;
}

export interface MessageEventRow {
  type: MessageDetail['events'][number]['type'];
  attempt: number;
  occurred_at: Date;
  data: Record<string, unknown> | null;
}

const iso = (date: Date | null | undefined) => date?.toISOString() ?? null;

/** `sending` and `scheduled` are only shown, never stored. */
export function shownStatus(
  row: Pick<MessageRow, 'sending' | 'status' | 'scheduled_at'>,
): MessageResource['status'] {
  if (row.sending && openStatuses.includes(row.status)) return 'sending';
  const { status, scheduled_at: time } = row;
  return status === 'queued' && time && time.getTime() > Date.now() ? 'scheduled' : status;
}

/** A held message keeps the time that was known when it was held. Once that has passed, the next time is unknown. */
function presentHold(hold: MessageRow['hold']): MessageResource['hold'] {
  if (!hold) return null;
  const until = hold.until === null ? null : new Date(hold.until);
  return { reason: hold.reason, until: until && until.getTime() > Date.now() ? until.toISOString() : null };
}

function presentOrigin(row: MessageRow) {
  return {
    template_id: row.template_id ?? row.version_template_id ?? null,
    contact_id: row.contact_id ?? null,
    campaign_id: row.campaign_id ?? null,
    flow_id: row.flow_id ?? null,
  };
}

function presentTracking(tracking: MessageRow['tracking']): MessageResource['tracking'] {
  return { opens: tracking?.opens ?? null, clicks: tracking?.clicks ?? null };
}

const presentLetterId = ({ letter_id: id }: MessageRow) => (typeof id === 'number' ? { letter_id: id } : {});

const presentReplyTo = ({ several_reply_to: several, reply_to: one }: MessageRow): string | null =>
  several?.join(', ') ?? one ?? null;

export function presentMessage(row: MessageRow): MessageResource {
  const createdAt = row.created_at.toISOString();
  return {
    id: row.id,
    ...presentLetterId(row),
    account_id: row.account_id,
    brand_id: row.brand_id,
    channel: row.channel,
    status: shownStatus(row),
    to: row.to_address,
    from: row.from_address ?? null,
    reply_to: presentReplyTo(row),
    subject: row.subject ?? row.version_subject ?? null,
    ...presentOrigin(row),
    tags: row.tags ?? {},
    headers: row.headers ?? {},
    tracking: presentTracking(row.tracking),
    idempotency_key: row.idempotency_key ?? null,
    provider: row.provider ?? null,
    provider_message_id: row.provider_message_id ?? null,
    segments: row.segments ?? null,
    test: row.test,
    answers_mail: row.answers_mail ?? false,
    failure: row.failure ?? null,
    bounce: row.bounce ?? null,
    hold: presentHold(row.hold),
    queued_at: createdAt,
    scheduled_at: iso(row.scheduled_at),
    sent_at: iso(row.sent_at),
    delivered_at: iso(row.delivered_at),
    opened_at: iso(row.opened_at),
    clicked_at: iso(row.clicked_at),
    created_at: createdAt,
    updated_at: row.updated_at === row.created_at ? createdAt : row.updated_at.toISOString(),
  };
}

/**
 * The events that are not stored because they follow from the message's row. The row has one response: to the accepted
 * attempt, or to the delivery if that was reported first.
 */
function eventsOfRow(row: MessageRow): MessageEventRow[] {
  const { sent_at: sentAt, delivered_at: deliveredAt, sent_attempt: attempt, provider, response } = row;
  if (typeof attempt !== 'number') return [];
  const data = provider ? { provider } : {};
  const withResponse = response ? { ...data, response } : data;
  const atOnce = sentAt?.getTime() === deliveredAt?.getTime();
  return [
    ...(sentAt ? [{ type: 'sent' as const, attempt, occurred_at: sentAt, data: withResponse }] : []),
    ...(deliveredAt
      ? [
          {
            type: 'delivered' as const,
            attempt,
            occurred_at: deliveredAt,
            data: atOnce ? withResponse : data,
          },
        ]
      : []),
  ];
}

/**
 * A hold belongs to the attempt that it delays: the one after those that were made before, or in the same millisecond.
 * @param events of the attempts
 */
function eventsOfHold(
  { last_hold: hold }: MessageRow,
  events: readonly MessageEventRow[],
): MessageEventRow[] {
  if (!hold) return [];
  const heldAt = new Date(hold.held_at);
  const before = events.filter(({ occurred_at: at }) => at <= heldAt);
  const attempt = Math.max(0, ...before.map((event) => event.attempt)) + 1;
  const data = { reason: hold.reason };
  const held = { type: 'held' as const, attempt, occurred_at: heldAt, data };
  if (hold.released_at === undefined) return [held];
  return [held, { type: 'released', attempt, occurred_at: new Date(hold.released_at), data }];
}

/**
 * Stored events replace those of the row, because they say more. But a sender may have recorded one after the
 * provider's report, so the earlier time counts.
 */
function mergeEvents(
  stored: readonly MessageEventRow[],
  ofRow: readonly MessageEventRow[],
): MessageEventRow[] {
  const same = (one: MessageEventRow, other: MessageEventRow) =>
    one.type === other.type && one.attempt === other.attempt;
  return [
    ...stored.map((event) => {
      const shown = ofRow.find((other) => same(event, other));
      return shown && shown.occurred_at < event.occurred_at
        ? { ...event, occurred_at: shown.occurred_at }
        : event;
    }),
    ...ofRow.filter((event) => !stored.some((other) => same(event, other))),
  ];
}

/** Orders events by attempt, then by time. At the same time, `sent` comes first, then `delivered`. */
function compareEvents(one: MessageEventRow, other: MessageEventRow): number {
  const rank = ({ type }: MessageEventRow) => (type === 'sent' ? 0 : type === 'delivered' ? 1 : 2);
  return (
    one.attempt - other.attempt ||
    one.occurred_at.getTime() - other.occurred_at.getTime() ||
    rank(one) - rank(other)
  );
}

/** Opens and clicks belong to the attempt that was accepted. */
function presentInteraction(row: MessageRow, interaction: Interaction): MessageEventRow {
  const { type, occurredAt, url, userAgent } = interaction;
  const data = { ...(url === null ? {} : { url }), ...(userAgent === null ? {} : { user_agent: userAgent }) };
  return { type, attempt: row.sent_attempt ?? 1, occurred_at: occurredAt, data };
}

/** @param stored the events in `message_events` */
export function presentMessageDetail(
  row: MessageRow & { html: string | null; text: string | null },
  stored: MessageEventRow[],
  interactions: readonly Interaction[] = [],
): MessageDetail {
  const done = interactions.map((interaction) => presentInteraction(row, interaction));
  const attempts = mergeEvents(stored, eventsOfRow(row));
  const events = [...attempts, ...eventsOfHold(row, attempts), ...done].sort(compareEvents);
  return {
    ...presentMessage(row),
    html: row.html,
    text: row.text,
    events: events.map((event) => ({
      type: event.type,
      attempt: event.attempt,
      occurred_at: event.occurred_at.toISOString(),
      data: event.data ?? {},
    })),
  };
}
