import { z } from 'zod';
import { defineEvent, idField, testField } from '../../platform/events/define.ts';

const stop = z.object({ reason: z.string(), rate: z.number(), threshold: z.number() });

export const flowEvents = {
  paused: defineEvent('flow.paused', {
    sentWhen: 'A flow was paused because of too many bounces or complaints.',
    data: z.object({ flow_id: idField, name: z.string(), stop, test: testField }),
    sample: () => ({
      flow_id: null,
      name: 'Welcome',
      stop: { reason: 'bounce_rate', rate: 0.062, threshold: 0.05 },
      test: true as const,
    }),
  }),
};
