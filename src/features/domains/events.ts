import { z } from 'zod';
import { defineEvent, idField, testField } from '../../platform/events/define.ts';

const domain = z.object({
  domain_id: idField,
  name: z.string(),
  records: z.array(
    z.object({
      record_type: z.string(),
      name: z.string(),
      value: z.string(),
      valid: z.string().meta({ description: '`true`, `false` or `unknown`.' }),
    }),
  ),
  test: testField,
});

const domainSample = (valid: string) => () => ({
  domain_id: null,
  name: 'example.com',
  records: [
    {
      record_type: 'TXT',
      name: 'carillon._domainkey.example.com',
      value: 'v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A',
      valid,
    },
    { record_type: 'TXT', name: '_dmarc.example.com', value: 'v=DMARC1; p=none', valid: 'true' },
  ],
  test: true as const,
});

export const domainEvents = {
  verified: defineEvent('domain.verified', {
    sentWhen: 'A sending domain passed verification.',
    data: domain,
    sample: domainSample('true'),
  }),
  verificationLost: defineEvent('domain.verification_lost', {
    sentWhen: 'A verified domain failed its DNS checks.',
    data: domain,
    sample: domainSample('false'),
  }),
  dnsDegraded: defineEvent('domain.dns_degraded', {
    sentWhen: 'The DNS records of a verified domain could not be confirmed.',
    data: domain,
    sample: domainSample('unknown'),
  }),
};
