import { z } from 'zod';
import { oneLine } from '../../platform/input/one-line.ts';

export const userSchema = z
  .object({
    id: z.int(),
    first_name: z.string(),
    last_name: z.string(),
    email: z.string(),
    mobile: z.string().meta({ description: 'In E.164 form; empty if unknown.' }),
    country_code: z.string().meta({ description: 'ISO 3166-1 alpha-2; empty if unknown.' }),
    admin: z.boolean().meta({
      description: 'Whether the user is an operator of this installation. It grants no rights in the API.',
    }),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'User' });

export type User = z.infer<typeof userSchema>;

const MAX_NAME = 255;

/** An omitted field stays unchanged; null clears it. */
export const changeUserBody = z.strictObject({
  first_name: oneLine(MAX_NAME).nullish(),
  last_name: oneLine(MAX_NAME).nullish(),
  mobile: z.string().max(40).nullish().meta({
    description: 'In E.164 form, or in national form with `country_code`. Templates can send test SMS to it.',
  }),
  country_code: z
    .string()
    .regex(/^([A-Za-z]{2})?$/, 'must be a two-letter country code (ISO 3166-1)')
    .transform((code) => code.toUpperCase())
    .nullish()
    .meta({ description: 'ISO 3166-1 alpha-2.' }),
});
export type ChangeUserBody = z.output<typeof changeUserBody>;

/** A client may send a user back as it received it. */
export const userReadOnlyFields = ['id', 'email', 'admin', 'created_at', 'updated_at'];
