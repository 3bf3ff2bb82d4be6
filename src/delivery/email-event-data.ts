/** What every email event says of its message. */
export interface EmailEventMessage {
  id: number;
  to: string | null;
  subject: string | null;
  /** As the client sent it; omitted from the event where there was none. */
  idempotencyKey: string | null;
  /** The client's own. */
  tags: Record<string, string> | null;
}

/**
 * The `data` of an email event (interface §6.3).
 * @param extra fields of this type of event, as its schema in `events.ts` has them
 */
export function emailEventData(
  message: EmailEventMessage,
  extra: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    message_id: message.id,
    to: message.to,
    subject: message.subject,
    ...(message.idempotencyKey === null ? {} : { idempotency_key: message.idempotencyKey }),
    tags: message.tags ?? {},
    ...extra,
  };
}
