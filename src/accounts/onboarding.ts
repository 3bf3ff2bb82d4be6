/** The steps of getting started, in the order they are shown. */
export const onboardingSteps = ['domain', 'brand', 'contacts', 'first_send'] as const;

export type OnboardingStep = (typeof onboardingSteps)[number];

export type StepTimes = Partial<Record<OnboardingStep, string>>;

export interface Onboarding {
  steps: Record<OnboardingStep, { completed_at: string | null }>;
  progress: { completed: number; total: number };
}

/** @param times when each completed step was completed, ISO 8601 */
export function presentOnboarding(times: StepTimes): Onboarding {
  const steps = Object.fromEntries(
    onboardingSteps.map((step) => [step, { completed_at: times[step] ?? null }]),
  ) as Onboarding['steps'];
  const completed = onboardingSteps.filter((step) => times[step] !== undefined).length;
  return { steps, progress: { completed, total: onboardingSteps.length } };
}
