import { type Channel, channels } from './index.ts';

/**
 * The queue of letters, which are emails. A process of a version that does not know letters takes nothing from it, so it
 * never sends one without its files or to the recipients of its other copies.
 */
export const LETTER_QUEUE = 'email_whole';

/**
 * The queue of letters whose body passes as a client wrote it. A process of a version that does not know those takes
 * nothing from it, so it never sends one without its body.
 */
export const RAW_QUEUE = 'email_raw';

export type LetterQueue = typeof LETTER_QUEUE | typeof RAW_QUEUE;

/** A value of `send_queue.channel`: the channel of the messages, or a queue of letters. */
export type QueueChannel = Channel | LetterQueue;

export const queueChannels: readonly QueueChannel[] = [...channels, LETTER_QUEUE, RAW_QUEUE];

/** Whether the messages of a queue are copies of letters. */
export const isLetterQueue = (queue: string | undefined): queue is LetterQueue =>
  queue === LETTER_QUEUE || queue === RAW_QUEUE;

/** The channel of the messages in a queue; null: the queue is that of another version. */
export function channelOfQueue(queue: string): Channel | null {
  if (isLetterQueue(queue)) return 'email';
  return channels.find((channel) => channel === queue) ?? null;
}

/** The queues in which messages of the channel wait. */
export const queuesOf = (channel: Channel): QueueChannel[] =>
  queueChannels.filter((queue) => channelOfQueue(queue) === channel);

/**
 * SQL: the channel of the messages in a queue. It knows the queues of later versions, too: those of one channel begin with
 * its name.
 * @param queue SQL: a column of `send_queue`
 */
export const channelOfQueueSql = (queue: string): string => `split_part(${queue}, '_', 1)`;

/** SQL: whether a queue has letters, also those of later versions. @param queue SQL: a column of `send_queue`, or a variable */
export const isLetterQueueSql = (queue: string): string => `${queue} like 'email\\_%'`;
