import { z } from 'zod';
import { ADDRESS_PATTERN } from '../../delivery/terms/addresses/email.ts';
import { suppressionReasons, MAX_DIAGNOSTIC } from '../../delivery/ledger/consent/suppressions.ts';
import { byStrangers } from '../../platform/openapi/strangers-texts.ts';
import { oneLine } from '../../platform/input/one-line.ts';
import { filterTime } from '../../platform/db/filter-time.ts';
import { idParam, pageQuery } from '../../platform/db/paging.ts';
import { bulkBody } from '../../platform/input/bulk-body.ts';

const MAX_ADDRESS_LENGTH = 320;
const MAX_PROVIDER_LENGTH = 100;

const when = z.iso.datetime();

/** Whether a mail server or a recipient caused a suppression. @param owner a suppression as clients see it */
const isReported = (owner: unknown): boolean => (owner as { reason?: unknown }).reason !== 'manual';

export const suppressionSchema = z
  .object({
    id: z.int(),
    account_id: z.int(),
    email: z.string().nullable(),
    phone: z.string().nullable(),
    reason: z.enum(suppressionReasons),
    source_provider: z.string().nullable().meta({
      description:
        'The provider that reported the bounce or complaint. Null if the address was suppressed manually.',
    }),
    diagnostic: byStrangers(z.string().nullable(), { when: isReported }),
    active: z.boolean(),
    expires_at: when.nullable().meta({ description: 'When it ends by itself. Null if it does not.' }),
    created_at: when,
    ended_by: z
      .object({ kind: z.enum(['user', 'api_key']), id: z.int() })
      .nullable()
      .meta({
        description:
          'Who ended it. Null if it is active, has expired, or this is unknown, as for suppressions that were ended ' +
          'in an earlier version, and for `manual` and `soft_bounce` after 400 days.',
      }),
  })
  .meta({ id: 'Suppression' });
export type Suppression = z.infer<typeof suppressionSchema>;

const address = z.string().max(MAX_ADDRESS_LENGTH);
const email = address.meta({ description: 'An email address. Its case does not matter.' });
const phone = address.meta({ description: 'A phone number in E.164 form.' });
/** The OpenAPI description of new addresses. The parsers decide what is valid. */
const AN_EMAIL = { pattern: ADDRESS_PATTERN };
const A_PHONE = { pattern: '^\\+[1-9][0-9]{6,14}$' };

export const createSuppressionBody = z
  .strictObject({
    email: email.optional().meta(AN_EMAIL),
    phone: phone.optional().meta(A_PHONE),
    reason: z.literal('manual').optional().meta({ description: 'The only reason that clients can give.' }),
    diagnostic: oneLine(MAX_DIAGNOSTIC).nullish().meta({ description: 'A note of your own.' }),
    expires_at: filterTime
      .nullish()
      .meta({ description: 'When the suppression ends by itself. Must be in the future.' }),
  })
  .superRefine((body, context) => {
    if ((body.email === undefined) !== (body.phone === undefined)) return;
    context.addIssue({ code: 'custom', path: ['email'], message: 'or phone is required, but not both' });
  })
  .meta({
    if: { required: ['email'] },
    then: { not: { required: ['phone'] } },
    else: { required: ['phone'] },
  });
export type CreateSuppressionBody = z.output<typeof createSuppressionBody>;

/** Fields that are ignored, so that a client can send a suppression back as it received it. */
export const suppressionReadOnlyFields = [
  'id',
  'account_id',
  'source_provider',
  'active',
  'created_at',
  'ended_by',
];

export const suppressionParams = z.strictObject({ id: idParam });

export const listSuppressionsQuery = z.strictObject({
  ...pageQuery,
  email: email.optional(),
  phone: address.optional().meta({
    description:
      'A phone number, however it is written. Without a country code, the numbers of all countries are found that are ' +
      'written so.',
  }),
  reason: z.enum(suppressionReasons).optional(),
  source_provider: z.string().max(MAX_PROVIDER_LENGTH).optional(),
  active: z.enum(['true', 'false']).optional().meta({
    description: '`false` lists suppressions that have ended. By default, only active ones are listed.',
  }),
});
export type ListSuppressionsQuery = z.output<typeof listSuppressionsQuery>;

export const bulkSuppressionsBody = bulkBody(address, 'Email addresses and phone numbers in E.164 form.');
export type BulkSuppressionsBody = z.output<typeof bulkSuppressionsBody>;

export const bulkStatuses = [
  'added',
  'already_there',
  'removed',
  'forbidden',
  'not_found',
  'invalid',
] as const;

export const bulkResultsSchema = z.object({
  results: z.array(
    z.object({
      input: z.string(),
      status: z.enum(bulkStatuses),
      suppression_id: z.int().nullable(),
      reason: z.string().nullable().meta({ description: 'Why an item is `forbidden` or `invalid`.' }),
    }),
  ),
});
export type BulkResult = z.infer<typeof bulkResultsSchema>['results'][number];
