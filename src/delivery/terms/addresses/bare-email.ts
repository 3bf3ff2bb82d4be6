import { z } from 'zod';
import { hasLiquid, noLiquid } from '../texts/no-liquid.ts';
import { parseEmailAddress } from './email.ts';

/** A text that is an email address without a name. @param text what else it has to be, such as short */
export const bareEmail = (text: z.ZodString = z.string()) =>
  text
    .superRefine((given, context) => {
      const parsed = parseEmailAddress(given);
      if ('error' in parsed) context.addIssue({ code: 'custom', message: parsed.error });
      else if (parsed.name !== null) {
        context.addIssue({ code: 'custom', message: 'must be an address without a name' });
      } else if (hasLiquid(given)) context.addIssue({ code: 'custom', message: noLiquid('addresses') });
    })
    .meta({ format: 'email' });
