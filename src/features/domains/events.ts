import { z } from 'zod';
import { defineEvent, idField, testField } from '../../platform/events/define.ts';
import { byStrangers } from '../../platform/openapi/strangers-texts.ts';

/** A DNS record as clients see it. All values are strings. */
export const domainRecordSchema = z.object({
  record_type: z.enum(['TXT', 'CNAME', 'MX']),
  name: z.string().meta({ description: 'The complete name.' }),
  value: z.string(),
  priority: z.string().meta({ description: 'For an MX record; empty for others.' }),
  valid: z
    .enum(['true', 'false', 'unknown'])
    .meta({ description: '`unknown`: not checked yet, or the name servers did not answer.' }),
  required: z.enum(['true', 'false']).meta({ description: '`true`: the domain is not verified without it.' }),
  found: byStrangers(
    z
      .string()
      .optional()
      .meta({ description: 'With `valid: "false"`: the value found instead; empty if there is none.' }),
  ),
});

export type DomainRecordView = z.output<typeof domainRecordSchema>;

const domain = z.object({
  domain_id: idField,
  name: z.string(),
  records: z.array(domainRecordSchema),
  test: testField,
});

const domainSample = (valid: 'true' | 'false' | 'unknown') => () => ({
  domain_id: null,
  name: 'example.com',
  records: [
    {
      record_type: 'TXT' as const,
      name: 'crl-7-rsa._domainkey.example.com',
      value: 'v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A',
      priority: '',
      valid,
      required: 'true' as const,
      ...(valid === 'false' ? { found: '' } : {}),
    },
    {
      record_type: 'TXT' as const,
      name: '_dmarc.example.com',
      value: 'v=DMARC1; p=none',
      priority: '',
      valid: 'true' as const,
      required: 'false' as const,
    },
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
