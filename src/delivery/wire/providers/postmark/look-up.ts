/**
 * Looks for messages that Postmark may have accepted, by the reference in their metadata
 * (https://postmarkapp.com/developer/api/messages-api#outbound-message-search).
 */
import { z } from 'zod';
import type { Egress } from '../../../../platform/egress/client.ts';
import type { OutgoingMail } from '../../adapters/port.ts';
import { type PostmarkSettings, requestPostmark, serverToken } from './api.ts';
import { REFERENCE_FIELD } from './callbacks.ts';

const MAX_FOUND = 1;

const found = z.object({
  Messages: z
    .array(z.object({ MessageID: z.string().min(1).max(200), Metadata: z.record(z.string(), z.unknown()) }))
    .max(MAX_FOUND),
});

/** @returns the id at Postmark; null if it has no such message, does not list it yet, or cannot be reached */
export async function findAtPostmark(
  { reference }: Pick<OutgoingMail, 'reference'>,
  settings: PostmarkSettings,
  egress: Egress,
): Promise<string | null> {
  const query = new URLSearchParams({
    count: String(MAX_FOUND),
    offset: '0',
    messagestream: settings.message_stream,
    [`metadata_${REFERENCE_FIELD}`]: reference,
  });
  const result = await requestPostmark(settings, egress, serverToken(settings), {
    method: 'GET',
    path: `/messages/outbound?${query.toString()}`,
  });
  if (result.kind !== 'response' || result.status !== 200) return null;
  const [message] = found.safeParse(result.json).data?.Messages ?? [];
  // A filter that Postmark did not understand would return some other message.
  return message?.Metadata[REFERENCE_FIELD] === reference ? message.MessageID : null;
}
