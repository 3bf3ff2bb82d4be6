import type { OwnAccountRow } from '../../sessions/service.ts';

/** An account that the user may use, and its brands. */
export type OwnAccount = OwnAccountRow;

/** What a user ticks: a brand, or an account that has none. */
export interface Choice {
  accountId: number;
  brandId: number | null;
}

/** The value of the box of a choice. */
export const choiceValue = (accountId: number, brandId: number | null) => `${accountId}-${brandId ?? 'none'}`;

/** Every choice of a user, by the value of its box. */
export function choicesOf(accounts: readonly OwnAccount[]): Map<string, Choice> {
  const choices = accounts.flatMap(({ id: accountId, brands }): Choice[] =>
    brands.length === 0
      ? [{ accountId, brandId: null }]
      : brands.map(({ id: brandId }) => ({ accountId, brandId })),
  );
  return new Map(choices.map((choice) => [choiceValue(choice.accountId, choice.brandId), choice]));
}
