import { z } from 'zod';
import { idParam } from '../../platform/db/paging.ts';

const otp = z.string().min(1).max(100).optional().meta({
  description:
    'The code of the second factor, or a recovery code; required if the user has turned the second factor on.',
});

export const loginBody = z.strictObject({
  user: z.strictObject({
    email: z.string().min(1).max(320),
    password: z.string().min(1).max(1_024),
    otp,
  }),
  session: z.enum(['token', 'cookie']).default('token').meta({
    description:
      '`token`: for programs, a token in the header `Authorization`. `cookie`: for pages of this service in a browser.',
  }),
  return_to: z.string().max(2_000).optional().meta({
    description:
      'A path of this service, such as `/console`. The response repeats it if it leads nowhere else.',
  }),
});

export const logoutBody = z.strictObject({
  all: z
    .boolean()
    .default(false)
    .meta({ description: 'Whether all sessions of the user end, on every device.' }),
});

/** Headers of responses with a new session. */
export const credentialHeaders = {
  Authorization: { description: 'For a token: `Bearer` and the token', schema: z.string() },
  'Set-Cookie': { description: 'For a cookie: the session', schema: z.string() },
  'X-CSRF-Token': {
    description: 'For a cookie: what requests that change something must send in the same header',
    schema: z.string(),
  },
};

export const confirmBody = z.strictObject({ password: z.string().min(1).max(1_024), otp });

export const sessionParams = z.strictObject({ id: idParam });

export const sessionSchema = z
  .object({
    id: z.int(),
    kind: z.enum(['token', 'cookie']),
    current: z.boolean().meta({ description: 'Whether the request belongs to this session.' }),
    second_factor: z.boolean().meta({ description: 'Whether the user gave a code of the second factor.' }),
    network: z.string().nullable().meta({
      description: 'Where the user signed in from: an IPv4 address, or the first 48 bits of an IPv6 address.',
    }),
    user_agent: z.string().nullable().meta({ description: 'The first 400 characters of the header.' }),
    created_at: z.iso.datetime(),
    last_used_at: z.iso.datetime().meta({ description: 'Exact to a minute.' }),
    confirmed_at: z.iso.datetime().meta({ description: 'When the user last gave the password.' }),
    expires_at: z.iso.datetime().meta({
      description: 'A cookie also ends after 12 hours without a request.',
    }),
  })
  .meta({ id: 'Session' });
export type Session = z.infer<typeof sessionSchema>;
