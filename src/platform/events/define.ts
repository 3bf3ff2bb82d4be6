import { z } from 'zod';

/** A type of event, declared by the part of the system that publishes it. */
export interface EventDefinition<Type extends string = string, Data extends z.ZodObject = z.ZodObject> {
  /** Such as `email.sent`. */
  type: Type;
  /** When the event is sent, as a sentence for `/openapi.yaml`. */
  sentWhen: string;
  /** Schema of the `data` in the body of a webhook request. */
  data: Data;
  /**
   * What `POST /webhooks/{id}/test` sends: realistic data, except that `test` is true and ids are null.
   * @param at the time of the event
   */
  sample: (at: Date) => z.input<Data>;
}

export function defineEvent<Type extends string, Data extends z.ZodObject>(
  type: Type,
  definition: Omit<EventDefinition<Type, Data>, 'type'>,
): EventDefinition<Type, Data> {
  return { type, ...definition };
}

/** The subject, time and data of an event. */
export interface Occurrence<Data> {
  accountId: number;
  /** Null if the event concerns the whole account, and so is sent to every brand. */
  brandId: number | null;
  occurredAt: Date;
  data: Data;
}

const dataMatchesType = Symbol('data matches type');

/** An event to be published. Only {@link createEvent} makes one, so its data is always that of its type. */
export interface PublishedEvent extends Occurrence<object> {
  readonly [dataMatchesType]: true;
  type: string;
}

/** Pairs an event's definition with its data; the compiler rejects data of another type of event. */
export function createEvent<Data extends z.ZodObject>(
  { type }: EventDefinition<string, Data>,
  occurrence: Occurrence<z.input<Data>>,
): PublishedEvent {
  return { [dataMatchesType]: true, type, ...occurrence };
}

/** Schemas of fields that several types of event have. */
export const idField = z.int().nullable().meta({ description: 'Null in test events.' });
export const timeField = z.iso.datetime();
export const countField = z.int().min(0);

/** Fields in the data of every event. */
export const testField = z
  .literal(true)
  .optional()
  .meta({ description: 'Only in events of POST /webhooks/{id}/test.' });
