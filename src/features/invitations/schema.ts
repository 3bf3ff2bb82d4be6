import { z } from 'zod';
import { userEmail } from '../../delivery/terms/addresses/look-alike.ts';
import { idParam, pageQuery } from '../../platform/db/paging.ts';
import { oneLine } from '../../platform/input/one-line.ts';
import { newPassword, role } from '../users/schema.ts';

const MAX_NAME = 255;

export const invitationSchema = z
  .object({
    id: z.int(),
    email: z.string(),
    role,
    status: z.enum(['pending', 'expired']),
    invited_by: z
      .int()
      .nullable()
      .meta({ description: 'The user who invites; null once that user is deleted.' }),
    expires_at: z.iso.datetime(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Invitation' });
export type Invitation = z.infer<typeof invitationSchema>;

const link = z
  .string()
  .nullable()
  .meta({
    description:
      'If the installation cannot mail it, the link for a new user, which is shown only once; a path if the installation ' +
      'has no `PUBLIC_URL`. Otherwise null.',
  });

export const newInvitationSchema = invitationSchema.extend({ link }).meta({ id: 'NewInvitation' });
export type NewInvitation = z.infer<typeof newInvitationSchema>;

export const createInvitationBody = z.strictObject({
  email: userEmail(320),
  role: role.default('member'),
});
export type CreateInvitationBody = z.output<typeof createInvitationBody>;

export const invitationParams = z.strictObject({ id: idParam });
export const listInvitationsQuery = z.strictObject(pageQuery);

/** What the invited person sees. */
export const shownInvitationSchema = z
  .object({
    account_name: z.string().nullable(),
    email: z.string(),
    role,
    expires_at: z.iso.datetime(),
  })
  .meta({ id: 'ShownInvitation' });
export type ShownInvitation = z.infer<typeof shownInvitationSchema>;

export const acceptBody = z.strictObject({
  password: newPassword,
  first_name: oneLine(MAX_NAME).default(''),
  last_name: oneLine(MAX_NAME).default(''),
});
export type AcceptBody = z.output<typeof acceptBody>;

export const ownInvitationSchema = shownInvitationSchema
  .extend({ id: z.int(), account_id: z.int(), created_at: z.iso.datetime() })
  .meta({ id: 'OwnInvitation' });
export type OwnInvitation = z.infer<typeof ownInvitationSchema>;

/** A client may send an invitation back as it received it. */
export const invitationReadOnlyFields = Object.keys(newInvitationSchema.shape).filter(
  (field) => !(field in createInvitationBody.shape),
);
