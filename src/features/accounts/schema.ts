import { z } from 'zod';
import { bareEmail } from '../../delivery/terms/addresses/bare-email.ts';
import { withoutLiquid } from '../../delivery/terms/texts/no-liquid.ts';
import { accountTiers } from '../../delivery/ledger/limits/tiers.ts';
import { oneLine } from '../../platform/input/one-line.ts';
import { SIGNED_ID } from '../../platform/secrets/signed-id.ts';
import { brandSchema } from '../brands/schema.ts';
import { submissionAccess } from '../submission/schema.ts';

/** The default capabilities of an account; false for features that are on request, or do not exist yet. */
const defaultCapabilities = {
  email: true,
  sms: true,
  campaigns: true,
  flows: true,
  validation: true,
  inboxes: false,
  webhooks: true,
  custom_domains: true,
  mcp: true,
};

export type Capability = keyof typeof defaultCapabilities;

export const capabilities = Object.keys(defaultCapabilities) as Capability[];

/**
 * Returns the capabilities of an account.
 * @param exceptions set by an operator, by name; unknown names and non-boolean values are ignored
 */
export function capabilitiesOf(exceptions: Record<string, unknown>): Record<Capability, boolean> {
  const all = capabilities.map((name): [Capability, boolean] => {
    const exception = exceptions[name];
    return [name, typeof exception === 'boolean' ? exception : defaultCapabilities[name]];
  });
  return Object.fromEntries(all) as Record<Capability, boolean>;
}

/** The onboarding steps, in display order. */
export const onboardingSteps = ['domain', 'brand', 'contacts', 'first_send'] as const;

export type OnboardingStep = (typeof onboardingSteps)[number];

/** When each completed step was completed, ISO 8601. */
export type StepTimes = Partial<Record<OnboardingStep, string>>;

export interface Onboarding {
  steps: Record<OnboardingStep, { completed_at: string | null }>;
  progress: { completed: number; total: number };
}

/** Presents all steps and the progress. */
export function presentOnboarding(times: StepTimes): Onboarding {
  const steps = Object.fromEntries(
    onboardingSteps.map((step) => [step, { completed_at: times[step] ?? null }]),
  ) as Onboarding['steps'];
  const completed = onboardingSteps.filter((step) => times[step] !== undefined).length;
  return { steps, progress: { completed, total: onboardingSteps.length } };
}

const MAX_TEST_RECIPIENTS = 5;

const MAX_NAME_LENGTH = 200;
const MAX_SIGNED_ID_LENGTH = 200;

const signedId = z
  .string()
  .max(MAX_SIGNED_ID_LENGTH)
  .meta({ pattern: SIGNED_ID.source, description: 'A `signed_id` from `POST /uploads`, of an image.' });
const email = bareEmail();

/** The body of `PATCH /v1/my/account`. Null clears a field. */
export const patchAccountBody = z.strictObject({
  name: oneLine(MAX_NAME_LENGTH).nullish(),
  avatar: signedId.nullish(),
  banner: signedId.nullish(),
  email_from_name: withoutLiquid(oneLine(MAX_NAME_LENGTH), 'sender names').nullish(),
  email_from_email: email.nullish().meta({ description: 'A verified sender identity of the current brand.' }),
  email_reply_to: email.nullish(),
  test_email_recipients: z.array(email).max(MAX_TEST_RECIPIENTS).optional(),
});

export type PatchAccountBody = z.infer<typeof patchAccountBody>;

const step = z.object({ completed_at: z.iso.datetime().nullable() });
/**
 * `remaining` of an unlimited resource: the interface promises a number, and 0 would mean that nothing more can be
 * sent.
 */
export const UNLIMITED = Number.MAX_SAFE_INTEGER;

const resource = z.object({
  used: z.number(),
  allowance: z.number(),
  remaining: z.number().meta({
    description: `The rest of \`allowance\`; ${UNLIMITED} if the resource is not limited.`,
  }),
  limited: z.boolean().meta({
    description: 'False if `allowance` is used up and further usage is neither limited nor charged.',
  }),
  overage_rate: z.number(),
});

const billing = z.object({
  plan_name: z.string().meta({ description: 'The tier of the account.' }),
  wallet_balance_cents: z.int(),
  auto_topup: z.boolean(),
  resources: z.object({ email: resource, sms: resource, ai: resource }).meta({
    description:
      'What the account has used in the current calendar month (UTC): messages that were sent or whose outcome is unknown, excluding test emails and messages sent with test keys; SMS in segments; `ai` counts calls for the tone of a brand. `allowance` is free, and each unit beyond it costs `overage_rate` cents, which is the maximum for SMS.',
  }),
  lifetime: z.object({ email_sent: z.int(), sms_sent: z.int(), ai_used: z.int() }).meta({
    description: 'All-time totals: messages that a provider has accepted, and calls for the tone of a brand.',
  }),
});

export const accountSchema = z
  .object({
    id: z.int(),
    name: z.string().nullable(),
    avatar: z.string().nullable(),
    banner: z.string().nullable(),
    comped: z.boolean(),
    account_tier: z.enum(accountTiers),
    onboarding_state: z
      .partialRecord(z.enum(onboardingSteps), step)
      .meta({ description: 'The completed steps.' }),
    onboarding: z.object({
      steps: z.record(z.enum(onboardingSteps), step),
      progress: z.object({ completed: z.int(), total: z.int() }),
    }),
    domain_verified: z.boolean().meta({ description: 'Whether the current brand has a verified domain.' }),
    can_send: z.boolean(),
    using_sandbox: z.boolean().meta({
      description:
        'Whether the current brand has no verified domain, so that it can send only from `sandbox_email`.',
    }),
    sandbox_email: z.string().nullable(),
    sandbox_monthly_cap: z.int(),
    sandbox_sends_remaining: z.int(),
    capabilities: z.record(z.enum(capabilities), z.boolean()),
    spend_cap_monthly_cents: z.int().nullable(),
    billing,
    email_from_name: z.string().nullable(),
    email_from_email: z.string().nullable(),
    email_reply_to: z.string().nullable(),
    test_email_recipients: z.array(z.string()),
    submission: submissionAccess.nullable().meta({
      description:
        'Where programs submit mail by SMTP, which the API key of a brand lets them; null: nowhere.',
    }),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    brand: brandSchema.nullable(),
  })
  .meta({ id: 'Account' });

export type AccountView = z.infer<typeof accountSchema>;

/** Fields that GET returns and PATCH ignores. */
export const accountReadOnlyFields = Object.keys(accountSchema.shape).filter(
  (name) => !(name in patchAccountBody.shape),
);
