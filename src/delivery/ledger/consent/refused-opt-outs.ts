/**
 * Opt-outs that at first only a provider knows: the recipient replied STOP to the provider, which then refuses further
 * messages. If the process ends before an opt-out is recorded, the provider refuses the next message too, and the
 * opt-out is recorded then.
 */
import type { Logger } from 'pino';
import { FairGate } from '../../../platform/processes/fair-gate.ts';
import { recipientKey } from '../../terms/channels/recipient.ts';
import type { Channel } from '../../terms/message.ts';

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
  /** Resolves when everything added so far is recorded or has failed. Never rejects. */
  settled(): Promise<void>;
}

/**
 * Maximum number of opt-outs that wait; more are dropped. The provider refuses the next message to a dropped recipient
 * too.
 */
const MAX_WAITING = 10_000;
/** Each may hold a connection while it waits for another transaction that changes subscriptions of the brand. */
const MAX_AT_ONCE = 2;

/**
 * Records opt-outs of refused recipients in the background, one at a time for each brand. Failures are logged.
 * @param record records an opt-out; `key` is the form in which addresses are compared
 */
export function createOptOutRecording(
  record: (refused: Omit<RefusedMessage, 'to'> & { key: string }) => Promise<void>,
  log: Logger,
): OptOutRecording {
  const gate = new FairGate({ slots: MAX_AT_ONCE, perKey: 1 });
  const recordings = new Set<Promise<void>>();
  let waiting = 0;

  async function recordOne(refused: Parameters<typeof record>[0]): Promise<void> {
    try {
      await record(refused);
    } catch (error) {
      log.warn({ err: error, message_id: refused.messageId }, 'opt-out not recorded');
    }
  }

  return {
    add({ to, ...message }) {
      const key = recipientKey(message.channel, to);
      if (key === null) return;
      if (waiting >= MAX_WAITING) {
        log.warn({ message_id: message.messageId }, 'opt-out not recorded: too many are waiting');
        return;
      }
      waiting += 1;
      const begin = () => {
        waiting -= 1;
        return recordOne({ ...message, key });
      };
      const recording = gate.run(message.brandId, begin).finally(() => recordings.delete(recording));
      recordings.add(recording);
    },
    async settled() {
      while (recordings.size > 0) await Promise.all(recordings);
    },
  };
}
