import { z } from 'zod';
import { memberRoles } from '../../platform/auth/tenant.ts';
import { idParam, pageQuery } from '../../platform/db/paging.ts';
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

export const ownUserSchema = z
  .object({
    ...userSchema.shape,
    temporal_ui_url: z
      .string()
      .nullable()
      .meta({
        description:
          'For operators (`admin`): the address of Temporal’s Web UI, to which `/namespaces/<namespace>/workflows/<id>` ' +
          'is added. Null for others, and if `TEMPORAL_UI_PUBLIC_URL` is not set.',
      }),
    temporal_namespace: z
      .string()
      .nullable()
      .meta({ description: 'The namespace of the workflows in that UI; null if `temporal_ui_url` is null.' }),
    mailbox_url: z
      .string()
      .nullable()
      .meta({
        description:
          'For operators (`admin`): the address of the page on this machine that shows what was sent, while Carillon runs ' +
          'for development (`npm start`). Null for others.',
      }),
  })
  .meta({ id: 'OwnUser' });

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
export const userReadOnlyFields = [
  'id',
  'email',
  'admin',
  'temporal_ui_url',
  'temporal_namespace',
  'mailbox_url',
  'created_at',
  'updated_at',
];

/** A password that a user chooses. Sign-in accepts shorter ones, which older versions allowed. */
export const newPassword = z.string().min(8).max(1_024).meta({ description: '8 to 1,024 characters.' });

export const role = z.enum(memberRoles).meta({
  description:
    'Owners and admins manage users, API keys and webhooks; members do not. Only owners make owners.',
});

const secondFactor = z.boolean().meta({ description: 'Whether the user needs a code to sign in.' });
const lastActive = z.iso.datetime().nullable().meta({
  description: 'When the user was last signed in, in any account; null if that is longer ago than a month.',
});
const memberSince = z.iso.datetime().meta({ description: 'When the user became a member of the account.' });

export const memberSchema = z
  .object({
    id: z.int(),
    first_name: z.string(),
    last_name: z.string(),
    email: z.string(),
    role,
    second_factor: secondFactor,
    last_active_at: lastActive,
    created_at: memberSince,
  })
  .meta({ id: 'Member' });
export type Member = z.infer<typeof memberSchema>;

export const memberParams = z.strictObject({ id: idParam });
export const listMembersQuery = z.strictObject(pageQuery);
/** Without a role, nothing changes. */
export const changeMemberBody = z.strictObject({ role }).partial();
/** A client may send a member back as it received it. */
export const memberReadOnlyFields = Object.keys(memberSchema.shape).filter((field) => field !== 'role');

export const requestResetBody = z.strictObject({ email: oneLine(320).min(1) });

/** The token in the path of a secret link. Any text is accepted: an unknown token is a 404. */
export const linkParams = z.strictObject({ token: z.string().min(1).max(100) });

export const resetRequestSchema = z
  .object({ email: z.string().meta({ description: 'As it was sent.' }) })
  .meta({ id: 'PasswordResetRequest' });

export const resetSchema = z
  .object({ email: z.string().meta({ description: 'Of the user.' }), expires_at: z.iso.datetime() })
  .meta({ id: 'PasswordReset' });

export const resetPasswordBody = z.strictObject({ password: newPassword });

export const changePasswordBody = z.strictObject({
  current_password: z.string().min(1).max(1_024),
  password: newPassword,
});
export type ChangePasswordBody = z.output<typeof changePasswordBody>;
