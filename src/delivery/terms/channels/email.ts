import { parseEmailAddress } from '../addresses/email.ts';
import type { ChannelFacts } from './channel.ts';

export const email = {
  setting: 'EMAIL_PROVIDER_URL',
  required: 'how mail is sent, e.g. smtp://user:password@relay.example.com:587',
  address: {
    key(text) {
      const parsed = parseEmailAddress(text);
      return 'error' in parsed ? null : parsed.key;
    },
    hasTags: true,
  },
  contact: { kind: 'email', key: 'email_key' },
  account: { providers: 'email_provider_ids', replyTo: 'email_reply_to' },
  unit: 'message',
  hasRates: true,
  isTracked: true,
} as const satisfies ChannelFacts;
