import { z } from 'zod';
import { idParam, pageQuery } from '../../platform/db/paging.ts';
import { domainRecordSchema } from './events.ts';
import { MAX_TYPED_LENGTH } from './name.ts';

export const domainStatuses = ['pending', 'verified', 'failed'] as const;

export type DomainStatus = (typeof domainStatuses)[number];

/** The key of the record that leads mail for the inboxes of a domain here. */
export const INBOX_RECORD = 'inbox_mx';

export const createDomainBody = z.strictObject({
  domain: z.strictObject({
    name: z
      .string()
      .min(1)
      .max(MAX_TYPED_LENGTH)
      .meta({
        description:
          'A domain or subdomain whose DNS you control. International names may be in Unicode or in Punycode.',
        pattern: '^[^\\s/:@\\u0000-\\u001f\\u007f-\\u009f]+\\.[^\\s/:@\\u0000-\\u001f\\u007f-\\u009f]+$',
        examples: ['example.com', 'mail.bücher.example'],
      }),
    provider: z.string().min(1).max(100).optional().meta({
      description: 'The name of a provider that an operator has added. Default: the default provider.',
    }),
  }),
});

export const domainParams = z.strictObject({ id: idParam });
export const listDomainsQuery = z.strictObject(pageQuery);

const time = z.iso.datetime();

export const domainResource = z
  .object({
    id: z.int(),
    name: z.string().meta({ description: 'In A-labels and lower case.' }),
    provider: z.string(),
    status: z.enum(domainStatuses).meta({
      description:
        '`pending`: not verified yet. `verified`: the brand may send from every address at the domain. `failed`: the ' +
        'records were not found, or have disappeared; a later check may still verify the domain.',
    }),
    dns_records: z
      .array(domainRecordSchema)
      .nullable()
      .meta({ description: 'The records to publish. Null if the provider has not named its records yet.' }),
    provider_error: z
      .string()
      .nullable()
      .meta({
        description:
          'Why the provider refuses to register the domain, at most 500 characters. It is asked again once a day, and by ' +
          '`POST /domains/{id}/recheck`. Null if it does not refuse.',
      }),
    verified_at: time.nullable(),
    created_at: time,
  })
  .meta({ id: 'Domain' });

export type CreateDomainBody = z.output<typeof createDomainBody>;
export type DomainResource = z.output<typeof domainResource>;
