import { AppError, invalid, notFound } from '../../errors.ts';
import type { GrantCaller, GrantedAccount, GrantedBrand } from '../../platform/auth/grant-caller.ts';
import type { Role } from '../../platform/auth/tenant.ts';

/** The account and brand that a call acts on. */
export interface ToolTarget {
  accountId: number;
  accountName: string;
  role: Role;
  /** Null if the account has no brand. */
  brand: GrantedBrand | null;
  /** Whether the user allowed all brands of the account. */
  hasAllBrands: boolean;
}

const targetOf = (
  { accountId, accountName, role, hasAllBrands }: GrantedAccount,
  brand: GrantedBrand | null,
): ToolTarget => ({ accountId, accountName, role, brand, hasAllBrands });

type Choices = Pick<GrantCaller, 'choices' | 'selected'>;

function namedTarget({ choices }: Choices, brandId: unknown): ToolTarget {
  if (!Number.isSafeInteger(brandId)) throw invalid({ brand_id: ['must be an integer'] });
  for (const account of choices) {
    const brand = account.brands.find(({ id }) => id === brandId);
    if (brand) return targetOf(account, brand);
  }
  throw notFound('brand');
}

/** The accounts among which a call without a brand chooses. */
function candidates({ choices, selected }: Choices): GrantedAccount[] {
  const account = choices.find(({ accountId }) => accountId === selected?.accountId);
  return account ? [account] : [...choices];
}

/** The account and brand of a call that names none, and whether it could be others. */
function defaultTarget(caller: Choices): { target: ToolTarget; isCertain: boolean } {
  const [account, ...others] = candidates(caller);
  if (!account) {
    throw new AppError('forbidden', 'the user has allowed no account, or may not use it any more');
  }
  const { selected } = caller;
  const chosen = account.brands.find(({ id }) => id === selected?.brandId);
  if (chosen) return { target: targetOf(account, chosen), isCertain: true };
  const [first = null, ...more] = account.brands;
  return { target: targetOf(account, first), isCertain: others.length === 0 && more.length === 0 };
}

/**
 * Chooses what a call acts on: the brand that it names, else the selected one, else the only one.
 * @param mustBeCertain for changes: a user with several brands must select or name one; reads use the first
 * @throws AppError not_found for a brand that the user did not tick or may not use any more
 */
export function requireTarget(caller: Choices, brandId: unknown, mustBeCertain: boolean): ToolTarget {
  if (brandId !== undefined && brandId !== null) return namedTarget(caller, brandId);
  const { target, isCertain } = defaultTarget(caller);
  if (!mustBeCertain || isCertain) return target;
  const names = caller.choices
    .flatMap(({ brands }) => brands.map(({ id, name }) => `${id} (${name})`))
    .slice(0, 20);
  throw invalid({ brand_id: [`is required, as there are several brands: ${names.join(', ')}`] });
}
