import { z } from 'zod';
import type { Role } from '../../platform/auth/tenant.ts';
import { idFilter, idParam, MAX_ID, pageQuery } from '../../platform/db/paging.ts';
import { oneLine } from '../../platform/input/one-line.ts';

export const apiKeyRoles: Role[] = ['owner', 'admin'];

const MAX_NAME = 100;
const MAX_INT = 2_147_483_647;

const fields = {
  id: z.int(),
  brand_id: z.int(),
  name: z.string(),
  prefix: z.string().meta({ description: 'The first characters of the key, by which people recognize it.' }),
  test: z.boolean().meta({ description: 'Whether it is a test key, whose messages are not sent.' }),
  scopes: z.array(z.literal('send')).nullable().meta({
    description:
      '`["send"]`: a send-only key, which can send, and read what it sent. Null: it acts as an admin.',
  }),
  rate_limit_per_second: z.int().nullable().meta({
    description: 'Requests per second; null: the limit of this installation; 0: no limit.',
  }),
  last_used_at: z.iso.datetime().nullable().meta({ description: 'Updated at most once a minute.' }),
  revoked_at: z.iso.datetime().nullable(),
  created_at: z.iso.datetime(),
};

export const apiKeySchema = z.object(fields).meta({ id: 'ApiKey' });
export type ApiKey = z.infer<typeof apiKeySchema>;

export const createdApiKeySchema = z
  .object({
    ...fields,
    key: z.string().nullable().meta({
      description:
        'The key itself, which is not stored and is shown only once: null if the request is repeated.',
    }),
  })
  .meta({ id: 'CreatedApiKey' });

const ONE_SCOPE = 'must be ["send"]';

/** Empty scopes would be a key that can do nothing. */
const scopes = z
  .array(z.literal('send'))
  .min(1, ONE_SCOPE)
  .max(1, ONE_SCOPE)
  .transform((): ['send'] => ['send'])
  .nullish()
  .meta({
    description:
      '`["send"]`: a key for programs that keep it where others may read it. It can send messages, upload their files, ' +
      'and read what it sent; all else is a 403. Not for test keys. By default a key acts as an admin of its brand.',
  });

export const createApiKeyBody = z.strictObject({
  name: oneLine(MAX_NAME).default(''),
  test: z.boolean().default(false),
  scopes,
  brand_id: z
    .int()
    .min(1)
    .max(MAX_ID)
    .optional()
    .meta({ description: 'A brand of the account; by default the current one.' }),
  rate_limit_per_second: z.int().min(1).max(MAX_INT).nullish().meta({
    description: 'At most the limit of this installation, which is also the default.',
  }),
});

export const changeApiKeyBody = z.strictObject({ name: oneLine(MAX_NAME).optional() });

export const apiKeyReadOnlyFields = ['id', 'prefix', 'last_used_at', 'revoked_at', 'created_at', 'key'];
/** A PATCH changes the name only. */
export const changedApiKeyReadOnlyFields = [
  ...apiKeyReadOnlyFields,
  'brand_id',
  'test',
  'scopes',
  'rate_limit_per_second',
];

export const apiKeyParams = z.strictObject({ id: idParam });

export const listApiKeysQuery = z.strictObject({
  ...pageQuery,
  brand_id: idFilter,
  revoked: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true')
    .meta({ description: '`true`: the revoked keys instead of the valid ones.' }),
});
export type ListApiKeysQuery = z.output<typeof listApiKeysQuery>;
