/** The batches that a process is working on. */
import { type HandOverResult, isOpen } from '../../wire/adapters/port.ts';
import type { HandOverOutcome } from '../../terms/hand-over-outcome.ts';
import type { BatchMessage } from '../../ledger/intend/batch.ts';
import { MAX_BATCH } from '../turns/batch-size.ts';

/** The numbers of the intents that a process is working on. */
export interface Intents {
  /** Takes a number that this process has never used before. */
  begin(): number;
  end(seq: number): void;
  live(): number[];
}

export function createIntents(): Intents {
  const seqs = new Set<number>();
  let last = Date.now() * 1_000;
  return {
    begin() {
      seqs.add(++last);
      return last;
    },
    end: (seq) => void seqs.delete(seq),
    live: () => [...seqs],
  };
}

/** The batches of a connection that are handed over and not recorded yet. */
export function createUnrecorded() {
  const batches = new Set<Promise<void>>();
  let messages = 0;
  return {
    /** Waits until so many more messages may have open intents. */
    async makeRoom(count: number): Promise<void> {
      while (batches.size > 0 && messages + count > MAX_BATCH) await Promise.race(batches);
    },
    add(count: number, done: Promise<void>): void {
      messages += count;
      const recorded = done.finally(() => {
        messages -= count;
        batches.delete(recorded);
      });
      batches.add(recorded);
    },
    messages: () => messages,
    async settled(): Promise<void> {
      await Promise.all(batches);
    },
  };
}

/** A batch with its intent. */
export interface IntendedBatch {
  owner: number;
  seq: number;
  messages: BatchMessage[];
  /** Those of the messages that may leave. */
  leaving: BatchMessage[];
  /** Whether the sweep may have given its claims back before they were known here, so that it must not be sent. */
  isLate?: boolean;
}

/** A batch with messages that have no outcome yet, because its provider stops. */
export interface DividedBatch {
  /** Without its messages that are open. Its intent has another number. */
  known: IntendedBatch;
  outcomes: HandOverOutcome[];
  open: IntendedBatch;
  later: Promise<HandOverOutcome[]>;
}

/**
 * Divides a batch into the messages whose outcomes are known and those whose outcomes are open.
 * @param results of the messages that may leave, in their order
 * @param seq the number of the intent of the first part; the second keeps that of the batch
 */
export function divideBatch(
  batch: IntendedBatch,
  results: readonly HandOverResult[],
  seq: () => number,
): DividedBatch | { outcomes: HandOverOutcome[]; open: null } {
  const outcomes = results.filter((result) => !isOpen(result));
  const waiting = results.filter(isOpen);
  if (waiting.length === 0) return { outcomes, open: null };
  const isWaiting = new Set(batch.leaving.filter((_message, index) => isOpen(results[index])));
  const open = [...isWaiting];
  return {
    known: {
      ...batch,
      seq: seq(),
      messages: batch.messages.filter((message) => !isWaiting.has(message)),
      leaving: batch.leaving.filter((message) => !isWaiting.has(message)),
    },
    outcomes,
    open: { ...batch, messages: open, leaving: open },
    later: Promise.all(waiting.map(({ later }) => later.catch(unknownOutcome))),
  };
}

/** Providers report problems as outcomes. If one throws, what it has sent is unknown. */
export function unknownOutcome(): HandOverOutcome {
  return { kind: 'unknown', reason: 'the provider file threw an error' };
}
