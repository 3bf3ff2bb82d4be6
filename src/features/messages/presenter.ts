import type { z } from 'zod';
import type { Bounce } from '../../delivery/message.ts';
import type { messageDetail, messageResource } from './schema.ts';

export type MessageResource = z.input<typeof messageResource>;
export type MessageDetail = z.input<typeof messageDetail>;

/** A row of `messages` with what lists show besides. */
export interface MessageRow {
  id: number;
  account_id: number;
  brand_id: number;
  channel: 'email' | 'sms';
  status: MessageResource['status'];
  /** Whether an open handover covers it. */
  sending: boolean;
  test: boolean;
  segments: number | null;
  to_address: string | null;
  from_address: string | null;
  reply_to: string | null;
  subject: string | null;
  template_id: number | null;
  contact_id: number | null;
  campaign_id: number | null;
  flow_id: number | null;
  tags: Record<string, string> | null;
  headers: Record<string, string> | null;
  tracking: { opens?: boolean; clicks?: boolean } | null;
  idempotency_key: string | null;
  provider: string | null;
  provider_message_id: string | null;
  failure: { code: string; message: string } | null;
  bounce: Bounce | null;
  hold: { reason: string; until: string | null } | null;
  created_at: Date;
  updated_at: Date;
  sent_at: Date | null;
  delivered_at: Date | null;
  opened_at: Date | null;
  clicked_at: Date | null;
}

export interface MessageEventRow {
  type: MessageDetail['events'][number]['type'];
  attempt: number;
  occurred_at: Date;
  data: Record<string, unknown> | null;
}

const iso = (date: Date | null) => date?.toISOString() ?? null;

/** `sending` is shown, never stored. */
function shownStatus(row: MessageRow): MessageResource['status'] {
  return row.sending && ['queued', 'held', 'unknown'].includes(row.status) ? 'sending' : row.status;
}

function presentHold(hold: MessageRow['hold']): MessageResource['hold'] {
  return hold === null
    ? null
    : { reason: hold.reason, until: hold.until && new Date(hold.until).toISOString() };
}

export function presentMessage(row: MessageRow): MessageResource {
  const createdAt = row.created_at.toISOString();
  return {
    id: row.id,
    account_id: row.account_id,
    brand_id: row.brand_id,
    channel: row.channel,
    status: shownStatus(row),
    to: row.to_address,
    from: row.from_address,
    reply_to: row.reply_to,
    subject: row.subject,
    template_id: row.template_id,
    contact_id: row.contact_id,
    campaign_id: row.campaign_id,
    flow_id: row.flow_id,
    tags: row.tags ?? {},
    headers: row.headers ?? {},
    tracking: { opens: row.tracking?.opens ?? null, clicks: row.tracking?.clicks ?? null },
    idempotency_key: row.idempotency_key,
    provider: row.provider,
    provider_message_id: row.provider_message_id,
    segments: row.segments,
    test: row.test,
    failure: row.failure,
    bounce: row.bounce,
    hold: presentHold(row.hold),
    queued_at: createdAt,
    sent_at: iso(row.sent_at),
    delivered_at: iso(row.delivered_at),
    opened_at: iso(row.opened_at),
    clicked_at: iso(row.clicked_at),
    created_at: createdAt,
    updated_at: row.updated_at === row.created_at ? createdAt : row.updated_at.toISOString(),
  };
}

export function presentMessageDetail(
  row: MessageRow & { html: string | null; text: string | null },
  events: MessageEventRow[],
): MessageDetail {
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
