import { LRUCache } from 'lru-cache';
import { getDomain } from 'tldts';

/** After so many recipients in a row without an answer, an operation asks a mail server no more. */
const MAX_UNANSWERED = 5;
const MAX_KEYS = 20_000;
const OPERATION_MS = 3_600_000;

/** Where a recipient is asked for. */
export interface Asked {
  operationId: string;
  /** The name of the mail host. */
  host: string;
  address: string;
}

/**
 * How long an operation waits for slow mail servers. It counts for each operation: what a server says, and how fast,
 * depends on who asks for which recipients, so that one account could otherwise keep others from a server.
 */
export interface Patience {
  /** Whether the operation has waited in vain often enough, for the operator of the host or for the address. */
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
