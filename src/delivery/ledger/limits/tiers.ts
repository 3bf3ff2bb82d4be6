/** The tiers of accounts; each has its own default allowance. */
export const accountTiers = ['free', 'paid', 'trusted'] as const;

export type AccountTier = (typeof accountTiers)[number];
