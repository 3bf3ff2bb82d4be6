import { z } from 'zod';
import { bareEmail } from '../../../delivery/terms/addresses/bare-email.ts';
import type { Role } from '../../../platform/auth/tenant.ts';
import { idParam, pageQuery } from '../../../platform/db/paging.ts';
import { oneLine } from '../../../platform/input/one-line.ts';

/** The roles that may create, change and remove inboxes. */
export const inboxRoles: Role[] = ['owner', 'admin'];

const MAX_NAME_LENGTH = 200;

const mxStatuses = ['pending', 'verified', 'failed'] as const;
export type MxStatus = (typeof mxStatuses)[number];

const count = z.int().nonnegative();

export const inboxSchema = z
  .object({
    id: z.int(),
    brand_id: z.int(),
    domain_id: z.int().nullable().meta({
      description: 'The domain of the address. Null for the built-in inbox, and if the domain was removed.',
    }),
    address: z.string(),
    name: z.string().nullable().meta({ description: 'The display name of replies from the inbox.' }),
    enabled: z.boolean().meta({ description: 'Whether the inbox accepts mail.' }),
    mx_status: z
      .enum(mxStatuses)
      .nullable()
      .meta({
        description:
          'Whether the MX record in the `dns_records` of the domain leads mail here. `pending`: it was not checked yet, ' +
          'or the name servers did not answer. Null for the built-in inbox, which needs no record.',
      }),
    create_contacts: z.boolean().meta({
      description: 'Whether mail from an unknown, authenticated sender creates an unsubscribed contact.',
    }),
    evicted_count: count.meta({
      description: 'Mails that were deleted from quarantine because the account needed room for other mail.',
    }),
    last_evicted_at: z.iso.datetime().nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Inbox' });
export type Inbox = z.infer<typeof inboxSchema>;

export const inboxUsageSchema = z
  .object({
    used_bytes: count.meta({
      description: 'What the mail of the account, of all its brands, stores: as it arrived, and attachments.',
    }),
    quarantined_bytes: count.meta({ description: 'The part of it in quarantine.' }),
    unproved_bytes: count.meta({
      description: 'The part of it outside of quarantine that has no proof of its sender.',
    }),
    quota_bytes: count,
    evicted_count: count.meta({
      description: 'Mails that were deleted from quarantine because the account needed room for other mail.',
    }),
    evicted_bytes: count,
    last_evicted_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'InboxUsage' });
export type InboxUsage = z.infer<typeof inboxUsageSchema>;

const address = bareEmail();
const changeable = {
  name: oneLine(MAX_NAME_LENGTH).nullish(),
  enabled: z.boolean().optional(),
  create_contacts: z.boolean().optional(),
};

export const createInboxBody = z.strictObject({
  address: address.optional().meta({
    description:
      'An address at a verified domain of the brand. Default: the built-in address of the brand, which needs no domain.',
  }),
  ...changeable,
});
export type CreateInboxBody = z.output<typeof createInboxBody>;

/** An omitted field stays unchanged. */
export const changeInboxBody = z.strictObject({
  address: address.optional().meta({ description: 'May be sent back, but not changed.' }),
  ...changeable,
});
export type ChangeInboxBody = z.output<typeof changeInboxBody>;

/** A client may send an inbox back as it received it. */
export const inboxReadOnlyFields = [
  'id',
  'brand_id',
  'domain_id',
  'mx_status',
  'evicted_count',
  'last_evicted_at',
  'created_at',
  'updated_at',
];

export const inboxParams = z.strictObject({ id: idParam });
export const listInboxesQuery = z.strictObject(pageQuery);
