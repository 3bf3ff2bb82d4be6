import { LRUCache } from 'lru-cache';
import { messageClasses } from '../../terms/message.ts';
import type { DueBacklog } from './backlogs.ts';

/** How long a backlog that had more messages than one worker takes is claimed. */
const DEEP_MS = 100;
/** How long a backlog is claimed after one of its messages was not plain. */
const NOT_PLAIN_MS = 1_000;
/** How long it is claimed after the database failed to take its messages. */
const FAILED_MS = 60_000;
const MAX_REMEMBERED = 10_000;

/** Which backlogs may consist of a few plain messages. */
export interface PlainBacklogs {
  mayBe(backlog: DueBacklog): boolean;
  /** Notes that the backlog has more messages than one worker takes. */
  leaveDeep(backlog: DueBacklog): void;
  /** Notes that one of its messages is not plain. */
  leave(backlog: DueBacklog): void;
  /** Notes that its messages could not be taken. */
  leaveFailed(backlog: DueBacklog): void;
}

export function createPlainBacklogs(): PlainBacklogs {
  const left = new LRUCache<string, true>({ max: MAX_REMEMBERED });
  const leaveFor = (name: string, ttl: number) => void left.set(name, true, { ttl });
  return {
    mayBe: ({ name, queue, class: priority }) =>
      queue === 'email' && priority === messageClasses.transactional && !left.has(name),
    leaveDeep: ({ name }) => leaveFor(name, DEEP_MS),
    leave: ({ name }) => leaveFor(name, NOT_PLAIN_MS),
    leaveFailed: ({ name }) => leaveFor(name, FAILED_MS),
  };
}
