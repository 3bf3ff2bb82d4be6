// The compiler accepts only event data that fits the definition of the event.
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { createEvent, defineEvent, type PublishedEvent } from '../../../src/platform/events/define.ts';

const opened = defineEvent('door.opened', {
  sentWhen: 'A door was opened.',
  data: z.object({ door_id: z.int(), by: z.string().optional() }),
  sample: () => ({ door_id: 1 }),
});

const occurrence = { accountId: 1, brandId: 2, occurredAt: new Date(0) };

/** Type checking this file is the test: every `@ts-expect-error` without an error is one. */
function rejectedByTheCompiler(): PublishedEvent[] {
  return [
    // @ts-expect-error a field is missing
    createEvent(opened, { ...occurrence, data: {} }),
    // @ts-expect-error a field has the wrong type
    createEvent(opened, { ...occurrence, data: { door_id: 'front' } }),
    // @ts-expect-error the schema has no such field
    createEvent(opened, { ...occurrence, data: { door_id: 1, colour: 'red' } }),
    // @ts-expect-error only createEvent makes events
    { ...occurrence, type: 'door.opened', data: { door_id: 1 } },
  ];
}

describe('createEvent', () => {
  it('pairs the data with the type of the definition', () => {
    const event = createEvent(opened, { ...occurrence, data: { door_id: 1, by: 'Ann' } });
    expect(event).toMatchObject({ ...occurrence, type: 'door.opened', data: { door_id: 1, by: 'Ann' } });
  });

  it('accepts only data that fits the definition, which the compiler checks', () => {
    expect(rejectedByTheCompiler).toBeDefined();
  });
});
