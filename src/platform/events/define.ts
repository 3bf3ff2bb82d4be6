import { z } from 'zod';

/** All that is known of one type of event. */
export interface EventDescription<Data extends z.ZodObject = z.ZodObject> {
  /** When it is sent, a sentence for `/openapi.yaml`. */
  sentWhen: string;
  /** Of the request body's `data`. */
  data: Data;
  /**
   * What `POST /webhooks/{id}/test` sends: as real as can be, but `test` is true and ids are null.
   * @param at the time of the event
   */
  sample: (at: Date) => z.input<Data>;
}

export function describeEvent<Data extends z.ZodObject>(
  event: EventDescription<Data>,
): EventDescription<Data> {
  return event;
}

export const id = z.int().nullable().meta({ description: 'Null in test events.' });
export const when = z.iso.datetime();
export const count = z.int().min(0);

/** In the data of every event. */
export const test = z
  .literal(true)
  .optional()
  .meta({ description: 'Only in events of POST /webhooks/{id}/test.' });
