import { parsePhone } from '../addresses/phone.ts';
import type { ChannelFacts } from './channel.ts';

export const sms = {
  setting: 'SMS_PROVIDER_URL',
  required: null,
  address: {
    key(text) {
      const parsed = parsePhone(text);
      return 'error' in parsed ? null : parsed.e164;
    },
    hasTags: false,
  },
  contact: { kind: 'phone', key: 'phone' },
  account: { providers: 'sms_provider_ids', replyTo: null },
  unit: 'segment',
  hasRates: false,
  isTracked: false,
} as const satisfies ChannelFacts;
