/** Reads the records of runs, including those stored by earlier versions of the service. */
import { z } from 'zod';
import type { RunRecord } from './interpreter.ts';

const time = z.iso.datetime();

/** Schema 1. Runs may sleep for years, so it must stay readable: add a reader for each later schema. */
const record1 = z.object({
  schema: z.literal(1),
  stepId: z.int().positive().nullable(),
  begun: z.boolean(),
  wait: z
    .discriminatedUnion('for', [
      z.object({ for: z.literal(['time', 'quiet_hours']), until: time }),
      z.object({ for: z.literal('event'), eventName: z.string(), until: time }),
      z.object({ for: z.literal('webhook') }),
    ])
    .nullable(),
  enteredAt: time,
  arrivedAt: time,
  steps: z.int().nonnegative(),
});

const versioned = z.looseObject({ schema: z.unknown() });

/** Readers by schema. Each returns the record in the current schema. */
const readers = new Map<unknown, (stored: unknown) => RunRecord>([[1, (stored) => record1.parse(stored)]]);

/** A newer version of the service, which runs or ran beside this one, has stored the record. */
export class NewerRecordError extends Error {}

/**
 * Reads the record of a run.
 * @param stored `flow_runs.record`
 * @throws NewerRecordError; Error if it is not a record
 */
export function readRecord(stored: unknown): RunRecord {
  const { schema } = versioned.parse(stored);
  const read = readers.get(schema);
  if (!read) {
    throw new NewerRecordError(`this version cannot read a run's record of schema ${JSON.stringify(schema)}`);
  }
  return read(stored);
}
