import { isBlocked } from '../../delivery/ledger/limits/capacity.ts';
import { sandboxAddress } from '../../delivery/terms/sender-identity.ts';
import { MILLICENTS_PER_CENT } from '../../delivery/ledger/money/wallet.ts';
import type { Brand } from '../brands/schema.ts';
import type { SubmissionAccess } from '../submission/schema.ts';
import type { AccountFigures } from './model.ts';
import {
  capabilitiesOf,
  onboardingSteps,
  presentOnboarding,
  type StepTimes,
  type AccountView,
  UNLIMITED,
} from './schema.ts';

export interface AccountParts {
  figures: AccountFigures;
  brand: Brand | null;
  /** Where programs submit mail. */
  submission: SubmissionAccess | null;
  /** Returns the signed id of a stored image reference. */
  showImage: (reference: string | null) => string | null;
}

function completedAt(state: unknown): string | undefined {
  const at = (state as { completed_at?: unknown } | undefined)?.completed_at;
  return typeof at === 'string' ? new Date(at).toISOString() : undefined;
}

/** Uses the recorded times. Steps without one are derived from the brand, the first contact and the first message. */
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
    using_sandbox: figures.verified_domain_id === null,
    sandbox_email: figures.verified_domain_id === null ? sandboxAddress(figures.id, mailDomain) : null,
    sandbox_monthly_cap: limit,
    sandbox_sends_remaining: remaining,
  };
}

function billingOf(figures: AccountFigures): AccountView['billing'] {
  const { tier, walletBalanceCents } = figures.capacity;
  const resource = (used: number, allowance: number, millicents: number) => {
    const left = Math.max(0, allowance - used);
    // With the allowance used up, the resource is unlimited if further usage is free.
    const limited = left > 0 || millicents > 0;
    const remaining = limited ? left : UNLIMITED;
    return { used, allowance, remaining, limited, overage_rate: millicents / MILLICENTS_PER_CENT };
  };
  return {
    plan_name: tier,
    wallet_balance_cents: walletBalanceCents,
    auto_topup: figures.auto_topup,
    resources: {
      email: resource(figures.email_used, figures.monthly_emails, figures.email_price),
      sms: resource(figures.sms_used, 0, figures.sms_price),
      ai: resource(figures.ai_used, 0, 0),
    },
    lifetime: {
      email_sent: figures.email_sent,
      sms_sent: figures.sms_sent,
      ai_used: figures.ai_total,
    },
  };
}

/**
 * Presents an account to clients.
 * @param mailDomain the domain of the sandbox address
 */
export function presentAccount(parts: AccountParts, mailDomain: string): AccountView {
  const { figures, brand, submission, showImage } = parts;
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
    domain_verified: figures.verified_domain_id !== null,
    can_send: !isBlocked(capacity) && figures.next.transactional.outcome !== 'refuse',
    ...sandbox,
    capabilities: capabilitiesOf(figures.capabilities),
    spend_cap_monthly_cents: capacity.spendCapMonthlyCents,
    billing: billingOf(figures),
    email_from_name: figures.email_from_name,
    email_from_email: figures.email_from_email,
    email_reply_to: figures.email_reply_to,
    test_email_recipients: figures.test_email_recipients,
    submission,
    created_at: figures.created_at.toISOString(),
    updated_at: figures.updated_at.toISOString(),
    brand,
  };
}
