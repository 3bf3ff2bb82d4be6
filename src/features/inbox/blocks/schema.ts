import { z } from 'zod';
import { bareEmail } from '../../../delivery/terms/addresses/bare-email.ts';
import { canonicalDomain } from '../../../delivery/terms/addresses/email.ts';
import { idParam, pageQuery } from '../../../platform/db/paging.ts';
import { describeAs } from '../../../platform/openapi/describe-as.ts';

const MAX_TYPED_DOMAIN = 253;

export const inboxBlockSchema = z
  .object({
    id: z.int(),
    email: z.string().nullable().meta({ description: 'In lower case.' }),
    domain: z
      .string()
      .nullable()
      .meta({ description: 'In A-labels and lower case. Addresses at domains below it are blocked, too.' }),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'InboxBlock' });
export type InboxBlock = z.infer<typeof inboxBlockSchema>;

const domainName = z
  .string()
  .min(1)
  .max(MAX_TYPED_DOMAIN)
  .superRefine((text, context) => {
    if (typeof canonicalDomain(text) === 'string') return;
    context.addIssue({ code: 'custom', message: 'is not a domain name such as example.com' });
  });

export const email = bareEmail();
export const domain = domainName.meta({ examples: ['example.com'] });

const senders = z
  .strictObject({ email: email.nullish(), domain: domain.nullish() })
  .superRefine((given, context) => {
    const hasEmail = (given.email ?? null) !== null;
    const hasDomain = (given.domain ?? null) !== null;
    if (!hasEmail && !hasDomain) {
      context.addIssue({ code: 'custom', path: ['email'], message: 'is required, unless domain is given' });
    }
    if (hasEmail && hasDomain) {
      const message = 'must not be given together with email';
      context.addIssue({ code: 'custom', path: ['domain'], message });
    }
  });

export const createInboxBlockBody = describeAs(senders, () =>
  z.union([z.strictObject({ email }), z.strictObject({ domain })]),
);
export type CreateInboxBlockBody = z.output<typeof createInboxBlockBody>;

/** A client may send a block back as it received it. */
export const inboxBlockReadOnlyFields = ['id', 'created_at'];

export const inboxBlockParams = z.strictObject({ id: idParam });
export const listInboxBlocksQuery = z.strictObject(pageQuery);
