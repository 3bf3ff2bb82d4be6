import { hasUnapplied } from '../consent/unapplied-opt-outs.ts';
import { channelFacts } from '../../terms/channels/index.ts';
import type { BatchMessage, BatchRequest } from './batch.ts';

/** A message, with the opt-outs of its brand that may not be applied to contacts yet. */
export type CheckedRow = BatchMessage & { unapplied: Buffer[] | null };

/**
 * Refuses messages to recipients whose opt-out is known only by its HMAC. The intent includes them, but they are not
 * handed over.
 */
export function withoutOptedOut(
  rows: readonly CheckedRow[],
  { keyring, plusAddresses = false }: BatchRequest,
): BatchMessage[] {
  return rows.map(({ unapplied, ...message }) => {
    const { brandId, channel, to: address } = message;
    if (message.verdict !== 'send' || unapplied === null) return message;
    const recipient = {
      brandId,
      channel,
      address,
      plusAddresses: plusAddresses && channelFacts[channel].address.hasTags,
    };
    return hasUnapplied(keyring, recipient, unapplied) ? { ...message, verdict: 'unsubscribed' } : message;
  });
}
