export type Role = 'owner' | 'admin' | 'member';

/** Who acts. A test key (`crl_test_`) has `test: true`: nothing it sends leaves. */
export type Actor = { kind: 'api_key'; id: number; test: boolean } | { kind: 'user'; id: number; role: Role };

/** The caller's account, and its current brand where it has one. */
export interface AccountTenant {
  accountId: number;
  brandId: number | null;
  actor: Actor;
  /** An API key acts as `admin` inside its own brand. */
  role: Role;
}

/** The tenant every finder takes first. */
export interface Tenant extends AccountTenant {
  brandId: number;
}
