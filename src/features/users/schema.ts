import { z } from 'zod';

export const loginBody = z.strictObject({
  user: z.strictObject({
    email: z.string().min(1).max(320),
    password: z.string().min(1).max(1_024),
  }),
});

export const logoutBody = z.strictObject({
  all: z
    .boolean()
    .default(false)
    .meta({ description: 'Whether all sessions of the user end, on every device.' }),
});

export const userSchema = z
  .object({
    id: z.int(),
    first_name: z.string(),
    last_name: z.string(),
    email: z.string(),
    mobile: z.string(),
    country_code: z.string(),
    admin: z.boolean(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'User' });

export type User = z.infer<typeof userSchema>;
