/** The current brand, its account, and who is looking at it. */
import type { Schemas } from '../api/client.ts';
import { mayManage, type Role, type SignedIn } from '../api/session.ts';
import { brandRoute } from './root-route.tsx';

export interface BrandContext {
  brandId: number;
  account: Schemas['OwnAccount'];
  role: Role;
  signedIn: SignedIn;
  /** Whether the user may see and change keys, webhooks, money and the team. */
  manages: boolean;
}

/** Only in pages below `brandRoute`. */
export function useBrand(): BrandContext {
  const given: unknown = brandRoute.useRouteContext();
  const context = given as Omit<BrandContext, 'manages'>;
  return { ...context, manages: mayManage(context.role) };
}
