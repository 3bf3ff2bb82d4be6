import { isBlocked } from '../../delivery/limits/capacity.ts';
import { sandboxAddress } from '../../delivery/sender-identity.ts';
import type { Brand } from '../brands/schema.ts';
import type { AccountFigures } from './model.ts';
import {
  capabilitiesOf,
  onboardingSteps,
  presentOnboarding,
  type StepTimes,
  type AccountView,
} from './schema.ts';

export interface AccountParts {
  figures: AccountFigures;
  brand: Brand | null;
  /** Returns the signed id of a stored image reference. */
  showImage: (reference: string | null) => string | null;
}

function completedAt(state: unknown): string | undefined {
  const at = (state as { completed_at?: unknown } | undefined)?.completed_at;
  return typeof at === 'string' ? new Date(at).toISOString() : undefined;
}

/** Prefers the recorded times. Steps without one are derived from the brand, the first contact and the first message. */
function stepTimes({ figures, brand }: AccountParts): StepTimes {
  const times: StepTimes = {};
  for (const step of onboardingSteps) {
    const recorded = completedAt(figures.onboarding_state[step]);
    if (recorded !== undefined) times[step] = recorded;
  }
  if (brand?.complete) times.brand ??= brand.updated_at;
  if (figures.first_contact_at) times.contacts ??= figures.first_contact_at.toISOString();
  if (figures.first_message_at) times.first_send ??= figures.first_message_at.toISOString();
  return times;
}

function sandboxOf({ figures }: AccountParts, mailDomain: string) {
  const { limit, remaining } = figures.capacity.figures.sandbox_cap;
  return {
    using_sandbox: !figures.domain_verified,
    sandbox_email: figures.domain_verified ? null : sandboxAddress(figures.id, mailDomain),
    sandbox_monthly_cap: limit,
    sandbox_sends_remaining: remaining,
  };
}

function billingOf(figures: AccountFigures): AccountView['billing'] {
  const { tier, walletBalanceCents } = figures.capacity;
  const { allowance } = figures.capacity.figures;
  const none = { used: 0, allowance: 0, remaining: 0, overage_rate: 0 };
  return {
    plan_name: tier,
    wallet_balance_cents: walletBalanceCents,
    auto_topup: figures.auto_topup,
    resources: {
      email: {
        used: allowance.used,
        allowance: allowance.limit,
        remaining: allowance.remaining,
        overage_rate: 0,
      },
      sms: none,
      ai: none,
    },
    lifetime: {
      email_sent: figures.email_sent,
      sms_sent: figures.sms_sent,
      ai_used: figures.ai_used,
    },
  };
}

/**
 * Presents an account to clients.
 * @param mailDomain the domain of the sandbox address
 */
export function presentAccount(parts: AccountParts, mailDomain: string): AccountView {
  const { figures, brand, showImage } = parts;
  const { capacity } = figures;
  const sandbox = sandboxOf(parts, mailDomain);
  const onboarding = presentOnboarding(stepTimes(parts));
  const done = Object.entries(onboarding.steps).filter(([, step]) => step.completed_at !== null);
  return {
    id: figures.id,
    name: figures.name,
    avatar: showImage(figures.avatar),
    banner: showImage(figures.banner),
    comped: figures.comped,
    account_tier: capacity.tier,
    onboarding_state: Object.fromEntries(done),
    onboarding,
    domain_verified: figures.domain_verified,
    can_send: !isBlocked(capacity) && (figures.domain_verified || sandbox.sandbox_sends_remaining > 0),
    ...sandbox,
    capabilities: capabilitiesOf(figures.capabilities),
    spend_cap_monthly_cents: capacity.spendCapMonthlyCents,
    billing: billingOf(figures),
    email_from_name: figures.email_from_name,
    email_from_email: figures.email_from_email,
    email_reply_to: figures.email_reply_to,
    test_email_recipients: figures.test_email_recipients,
    created_at: figures.created_at.toISOString(),
    updated_at: figures.updated_at.toISOString(),
    brand,
  };
}
