/** Who is signed in, and where they may act. */
import { queryOptions } from '@tanstack/react-query';
import { api, call, callForSession, type Schemas } from './client.ts';

export type Role = Schemas['OwnAccount']['role'];

export interface SignedIn {
  user: Schemas['OwnUser'];
  session: Schemas['Session'];
  accounts: Schemas['OwnAccount'][];
}

async function loadSignedIn(): Promise<SignedIn> {
  // Before the sign-in, one request is refused, and not each of them.
  const session = await callForSession(() => api.GET('/v1/my/session'));
  const [user, accounts] = await Promise.all([
    call(() => api.GET('/v1/my/user')),
    call(() => api.GET('/v1/my/accounts')),
  ]);
  return { user, session, accounts };
}

export const signedInQuery = queryOptions({
  queryKey: ['signed-in'],
  queryFn: loadSignedIn,
  staleTime: 60_000,
  retry: false,
});

/** Returns the account of a brand; null if the user cannot use the brand. */
export const accountOfBrand = (accounts: readonly Schemas['OwnAccount'][], brandId: number) =>
  accounts.find(({ brands }) => brands.some(({ id }) => id === brandId)) ?? null;

/** Whether the role may see and change keys, webhooks, money and the team. */
export const mayManage = (role: Role): boolean => role !== 'member';
