import { z } from 'zod';
import { countField, defineEvent, idField, testField, timeField } from '../../platform/events/define.ts';

const cause = z.object({
  reason: z.enum(['bounce_rate', 'complaint_rate']),
  rate: z.number().meta({
    description:
      'The share of the emails of the last seven days, or since the flow was activated or resumed.',
  }),
  threshold: z.number(),
  at: timeField,
});

export const flowEvents = {
  paused: defineEvent('flow.paused', {
    sentWhen: 'A flow was paused because of too many bounces or complaints.',
    data: z.object({
      flow_id: idField,
      name: z.string(),
      sent_count: countField,
      cause,
      test: testField,
    }),
    sample: (at) => ({
      flow_id: null,
      name: 'Welcome',
      sent_count: 1_240,
      cause: { reason: 'bounce_rate' as const, rate: 0.062, threshold: 0.05, at: at.toISOString() },
      test: true as const,
    }),
  }),
};
