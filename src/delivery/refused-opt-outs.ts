/**
 * Opt-outs that only a provider knows of: recipients who answered STOP to it, so that it refuses further messages. If one
 * is not recorded because a process ends, the provider refuses the next message, too, and it is recorded then.
 */
import type { Logger } from 'pino';
import { recipientKey } from './addresses/recipient.ts';
import type { Channel } from './message.ts';

/** A message that the provider refused because its recipient opted out. */
export interface RefusedMessage {
  messageId: number;
  accountId: number;
  brandId: number;
  channel: Channel;
  to: string;
}

/**
 * Creates a function that records the opt-out of a refused message's recipient. It never rejects: a failure is logged,
 * and must not change the outcome of the message.
 * @param record records it; `key` is the form in which addresses are compared
 */
export function createOptOutRecording(
  record: (refused: Omit<RefusedMessage, 'to'> & { key: string }) => Promise<void>,
  log: Logger,
): (message: RefusedMessage) => Promise<void> {
  return async ({ to, ...message }) => {
    const key = recipientKey(message.channel, to);
    if (key === null) return;
    try {
      await record({ ...message, key });
    } catch (error) {
      log.warn({ err: error, message_id: message.messageId }, 'opt-out not recorded');
    }
  };
}
