/** Reads the records of runs, also those that earlier versions of the service have stored. */
import { z } from 'zod';
import type { RunRecord } from './interpreter.ts';

const time = z.iso.datetime();

/** Schema 1. What a run sleeps with for years stays readable: a later schema gets a reader of its own beside it. */
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

/** Readers by schema. Each returns the record as the present interpreter knows it. */
const readers = new Map<unknown, (stored: unknown) => RunRecord>([[1, (stored) => record1.parse(stored)]]);

/** A later version of the service has stored the record. Such a version runs beside this one, or did. */
export class NewerRecordError extends Error {}

/**
 * Reads the record of a run.
 * @param stored `flow_runs.record`
 * @throws NewerRecordError, or an Error if it is no record
 */
export function readRecord(stored: unknown): RunRecord {
  const { schema } = z.looseObject({ schema: z.unknown() }).parse(stored);
  const read = readers.get(schema);
  if (!read) {
    throw new NewerRecordError(`this version cannot read a run's record of schema ${JSON.stringify(schema)}`);
  }
  return read(stored);
}
