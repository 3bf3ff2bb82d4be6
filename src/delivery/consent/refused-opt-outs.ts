/**
 * Opt-outs that only a provider knows of: recipients who answered STOP to it, so that it refuses further messages. If one
 * is not recorded because a process ends, the provider refuses the next message, too, and it is recorded then.
 */
import type { Logger } from 'pino';
import { recipientKey } from '../addresses/recipient.ts';
import type { Channel } from '../message.ts';

/** A message that the provider refused because its recipient opted out. */
export interface RefusedMessage {
  messageId: number;
  accountId: number;
  brandId: number;
  channel: Channel;
  to: string;
}

/** Records the opt-outs of refused recipients in the background. */
export interface OptOutRecording {
  /** Returns at once: the outcome of the message must not wait, nor change if this fails. */
  add(message: RefusedMessage): void;
  /** Resolves when everything that was added is recorded, or has failed. It never rejects. */
  settled(): Promise<void>;
}

/** Opt-outs that wait at most. A provider refuses the next message to a recipient who is dropped, too. */
const MAX_WAITING = 10_000;
/** Each may hold a connection while it waits for whoever changes subscriptions of the brand. */
const MAX_AT_ONCE = 2;

/**
 * Creates what records the opt-outs of refused recipients: one at a time for each brand, and a failure is logged.
 * @param record records it; `key` is the form in which addresses are compared
 */
export function createOptOutRecording(
  record: (refused: Omit<RefusedMessage, 'to'> & { key: string }) => Promise<void>,
  log: Logger,
): OptOutRecording {
  const waiting: (Omit<RefusedMessage, 'to'> & { key: string })[] = [];
  const busyBrands = new Set<number>();
  const running = new Set<Promise<void>>();

  async function recordOne(refused: (typeof waiting)[number]): Promise<void> {
    try {
      await record(refused);
    } catch (error) {
      log.warn({ err: error, message_id: refused.messageId }, 'opt-out not recorded');
    }
  }

  function start(): void {
    while (running.size < MAX_AT_ONCE) {
      const index = waiting.findIndex(({ brandId }) => !busyBrands.has(brandId));
      const [next] = index === -1 ? [] : waiting.splice(index, 1);
      if (!next) return;
      busyBrands.add(next.brandId);
      const recording = recordOne(next).then(() => {
        busyBrands.delete(next.brandId);
        running.delete(recording);
        start();
      });
      running.add(recording);
    }
  }

  return {
    add({ to, ...message }) {
      const key = recipientKey(message.channel, to);
      if (key === null) return;
      if (waiting.length >= MAX_WAITING) {
        log.warn({ message_id: message.messageId }, 'opt-out not recorded: too many wait');
        return;
      }
      waiting.push({ ...message, key });
      start();
    },
    async settled() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
