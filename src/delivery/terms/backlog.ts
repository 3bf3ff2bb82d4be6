import { channelOfQueue, type QueueChannel } from './channels/queue-channel.ts';
import type { Channel } from './message.ts';

/** `provider_id` of messages for the provider of EMAIL_PROVIDER_URL or SMS_PROVIDER_URL. */
export const DEFAULT_PROVIDER = 0;

/**
 * The class of campaign blocks, whose recipients have no row in the queue. It comes after the class of campaign
 * messages in the queue, which are retries.
 */
export const BLOCKS_CLASS = 3;

/** The part of the queue that waits for one provider. */
export interface QueueShare {
  channel: Channel;
  /** The id of a named provider, or {@link DEFAULT_PROVIDER}. */
  providerId: number;
}

/** Waiting messages of one account, queue, class and provider. A sender is fair between backlogs. */
export interface Backlog extends QueueShare {
  /** Where the messages of the channel wait: letters have a queue of their own. */
  queue: QueueChannel;
  /** The class of the messages, or {@link BLOCKS_CLASS}. */
  class: number;
  accountId: number;
}

/** Names a share, as `email` for the default provider, or `email:3`. */
export function shareName({ channel, providerId }: QueueShare): string {
  return providerId === DEFAULT_PROVIDER ? channel : `${channel}:${providerId}`;
}

/** A backlog of messages that are no letters may leave out its queue, which is named as its channel. */
export interface NamedBacklog extends Omit<Backlog, 'queue'> {
  queue?: QueueChannel | undefined;
}

/**
 * Names a backlog in a notification, as `email/0/17`, or `email:3/0/17` if it waits for a named provider. Backlogs of
 * letters begin with `email_whole`, which processes that do not know letters ignore.
 */
export function backlogName({ channel, queue = channel, providerId, ...of }: NamedBacklog): string {
  const share = providerId === DEFAULT_PROVIDER ? queue : `${queue}:${providerId}`;
  return `${share}/${of.class}/${of.accountId}`;
}

/** @returns null if the text names no backlog: another version may have written it */
export function parseBacklogName(text: string): Backlog | null {
  const [share = '', priority, accountId, ...rest] = text.split('/');
  const [name = '', providerId = DEFAULT_PROVIDER, ...more] = share.split(':');
  const channel = channelOfQueue(name);
  const numbers = [Number(priority), Number(accountId), Number(providerId)] as const;
  if (!channel || rest.length > 0 || more.length > 0 || !numbers.every(Number.isSafeInteger)) return null;
  const queue = name as QueueChannel;
  return { channel, queue, class: numbers[0], accountId: numbers[1], providerId: numbers[2] };
}

/**
 * SQL: a `with` clause for the table `backlog`: every backlog with unclaimed messages, and when the first of these is
 * due. It jumps through the index from one backlog to the next. `channel` is their queue, see `QueueChannel`.
 */
export const firstDueSql = `with recursive backlog as (
      (select channel, class, account_id, provider_id, due_at from send_queue where owner is null
       order by channel, class, account_id, provider_id, due_at limit 1)
      union all
      select next.* from backlog b cross join lateral (
        select channel, class, account_id, provider_id, due_at from send_queue
        where owner is null
          and (channel, class, account_id, provider_id) > (b.channel, b.class, b.account_id, b.provider_id)
        order by channel, class, account_id, provider_id, due_at limit 1) next
    )`;
