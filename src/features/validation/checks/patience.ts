import { LRUCache } from 'lru-cache';
import { getDomain } from 'tldts';

/** After this many recipients in a row without an answer, an operation no longer asks a mail server. */
const MAX_UNANSWERED = 5;
const MAX_KEYS = 20_000;
const OPERATION_MS = 3_600_000;

/** An operation, and the mail server that it asks. */
export interface Asked {
  operationId: string;
  /** The name of the mail host. */
  host: string;
  address: string;
}

/**
 * Limits how long an operation waits for slow mail servers. Each operation counts separately: a server's answers, and
 * how fast they are, depend on which recipients it is asked about, so one account could otherwise block a server for
 * others.
 */
export interface Patience {
  /** Whether the operation has waited without success often enough, for the operator of the host or for the address. */
  isOver(asked: Asked): boolean;
  record(asked: Asked, isAnswered: boolean): void;
  forget(operationId: string): void;
}

/** @param now in milliseconds */
export function createPatience(now: () => number): Patience {
  const unanswered = new LRUCache<string, number>({
    max: MAX_KEYS,
    ttl: OPERATION_MS,
    perf: { now },
    ttlResolution: 0,
  });
  const keysOf = ({ operationId, host, address }: Asked) => [
    `${operationId} ${getDomain(host) ?? host}`,
    `${operationId} ${address}`,
  ];
  return {
    isOver: (asked) => keysOf(asked).some((key) => (unanswered.get(key) ?? 0) >= MAX_UNANSWERED),
    record(asked, isAnswered) {
      for (const key of keysOf(asked)) {
        if (isAnswered) unanswered.delete(key);
        else unanswered.set(key, (unanswered.get(key) ?? 0) + 1);
      }
    },
    forget(operationId) {
      for (const key of [...unanswered.keys()]) {
        if (key.startsWith(`${operationId} `)) unanswered.delete(key);
      }
    },
  };
}
