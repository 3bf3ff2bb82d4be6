import { type Channel, channels } from './message.ts';

/** Waiting messages of one account, channel and class. A sender is fair between backlogs. */
export interface Backlog {
  channel: Channel;
  class: number;
  accountId: number;
}

/** Names a backlog in a notification, as `email/0/17`. */
export function backlogName({ channel, class: priority, accountId }: Backlog): string {
  return `${channel}/${priority}/${accountId}`;
}

/** @returns null if the text names no backlog: another version may have written it */
export function parseBacklogName(text: string): Backlog | null {
  const [name, priority, accountId, ...rest] = text.split('/');
  const channel = channels.find((each) => each === name);
  const numbers = [Number(priority), Number(accountId)];
  if (!channel || rest.length > 0 || !numbers.every(Number.isSafeInteger)) return null;
  return { channel, class: numbers[0] ?? 0, accountId: numbers[1] ?? 0 };
}
