import { z } from 'zod';
import { defineEvent, idField, testField, timeField } from '../../platform/events/define.ts';

const THREE_DAYS_MS = 72 * 3_600_000;

export const webhookEvents = {
  disabled: defineEvent('webhook.disabled', {
    sentWhen: 'A webhook was turned off after three days of failed deliveries.',
    data: z.object({ webhook_id: idField, url: z.string(), failing_since: timeField, test: testField }),
    sample: (at) => ({
      webhook_id: null,
      url: 'https://example.com/hooks/carillon',
      failing_since: new Date(at.getTime() - THREE_DAYS_MS).toISOString(),
      test: true as const,
    }),
  }),
};
