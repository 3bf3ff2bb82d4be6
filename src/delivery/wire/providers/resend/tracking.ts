/** Checks whether Resend itself tracks opens and clicks, which is a setting of each of its domains. */
import { z } from 'zod';
import type { Egress } from '../../../../platform/egress/client.ts';
import { createSpacing } from '../../adapters/spacing.ts';
import { requestResend, resendMessage, type ResendSettings } from './api.ts';

/** Maximum number of domains checked: Resend allows few requests per second. */
const MAX_DOMAINS = 50;

const listSchema = z.object({
  data: z.array(z.object({ id: z.string().regex(/^[\w-]{1,100}$/), name: z.string() })),
});
/** https://resend.com/docs/api-reference/domains/get-domain */
const domainSchema = z.object({
  open_tracking: z.boolean().optional(),
  click_tracking: z.boolean().optional(),
});

async function ask(settings: ResendSettings, egress: Egress, path: string): Promise<unknown> {
  const result = await requestResend(settings, egress, { method: 'GET', path });
  if (result.kind !== 'response') throw new Error(result.reason);
  if (result.status !== 200) throw new Error(`${result.status} ${resendMessage(result)}`);
  return result.json;
}

/**
 * Finds a domain in whose messages Resend would rewrite links or add a pixel.
 * @returns what the operator has to change; null if nothing
 * @throws Error if Resend cannot be reached
 */
export async function resendTrackingProblem(
  settings: ResendSettings,
  egress: Egress,
): Promise<string | null> {
  const spacing = createSpacing(settings.requests_per_second);
  await spacing();
  const list = listSchema.safeParse(await ask(settings, egress, `/domains?limit=${MAX_DOMAINS}`));
  if (!list.success) throw new Error('the response is not a list of domains');
  for (const { id, name } of list.data.data.slice(0, MAX_DOMAINS)) {
    await spacing();
    const domain = domainSchema.safeParse(await ask(settings, egress, `/domains/${id}`));
    if (domain.success && (domain.data.open_tracking || domain.data.click_tracking))
      return `the domain ${name} tracks opens or clicks: switch both off in its configuration at Resend`;
  }
  return null;
}
