/**
 * Opt-outs that only a provider knows of: recipients who answered STOP to it, so that it refuses further messages. If one
 * is not recorded because a process ends, the provider refuses the next message, too, and it is recorded then.
 */
import type { Logger } from 'pino';
import type { Queryable } from '../platform/db/queryable.ts';
import type { Keyring } from '../platform/secrets/keyring.ts';
import type { Channel } from './message.ts';
import { recordOptOut } from './opt-outs.ts';

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
 */
export function createOptOutRecording(
  db: Queryable,
  keyring: Keyring,
  log: Logger,
): (message: RefusedMessage) => Promise<void> {
  return async ({ to, ...message }) => {
    try {
      await recordOptOut(db, keyring, { ...message, address: to, source: 'provider' });
    } catch (error) {
      log.warn({ err: error, message_id: message.messageId }, 'opt-out not recorded');
    }
  };
}
