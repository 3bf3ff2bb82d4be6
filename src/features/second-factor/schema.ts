import { z } from 'zod';

export const secondFactorSchema = z
  .object({
    enabled: z.boolean().meta({ description: 'Whether sign-in needs a code.' }),
    recovery_codes_left: z.int().meta({ description: 'Recovery codes that were not used.' }),
  })
  .meta({ id: 'SecondFactor' });
export type SecondFactor = z.infer<typeof secondFactorSchema>;

export const secondFactorSecretSchema = z
  .object({
    secret: z.string().meta({ description: 'In base 32, to be typed into an authenticator app.' }),
    uri: z.string().meta({ description: 'The same for the app’s camera: show it as a QR code.' }),
  })
  .meta({ id: 'SecondFactorSecret' });

export const recoveryCodesSchema = z
  .object({
    recovery_codes: z.array(z.string()).meta({
      description:
        'Ten codes. Each is accepted once, in place of a code of the app. They are shown only once.',
    }),
  })
  .meta({ id: 'RecoveryCodes' });

const MAX_CODE = 64;

export const confirmSecondFactorBody = z.strictObject({
  otp: z.string().min(1).max(MAX_CODE).meta({ description: 'The code that the app shows.' }),
});
