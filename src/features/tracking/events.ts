import { z } from 'zod';
import { emailFields, sampleEmail } from '../../delivery/terms/events.ts';
import { defineEvent } from '../../platform/events/define.ts';
import { byStrangers } from '../../platform/openapi/strangers-texts.ts';

const SAMPLE_BROWSER =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15';

/** Sent for transactional email only (interface §6.3). */
export const trackingEvents = {
  opened: defineEvent('email.opened', {
    sentWhen: 'The message was opened for the first time. Security scanners and bots do not count.',
    data: z.object({ ...emailFields, user_agent: byStrangers(z.string().nullable()) }),
    sample: () => ({ ...sampleEmail, user_agent: SAMPLE_BROWSER }),
  }),
  clicked: defineEvent('email.clicked', {
    sentWhen: 'A person clicked a link in the message for the first time; sent once for each link.',
    data: z.object({ ...emailFields, url: z.string(), user_agent: byStrangers(z.string().nullable()) }),
    sample: () => ({ ...sampleEmail, url: 'https://example.com/orders/1042', user_agent: SAMPLE_BROWSER }),
  }),
};
