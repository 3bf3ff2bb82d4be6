import type { Queryable } from '../db/queryable.ts';
import type { Role } from './tenant.ts';

/** What a user may let an assistant do. */
export const mcpScopes = ['mcp:read', 'mcp:write', 'mcp:send', 'mcp:inbox'] as const;
export type McpScope = (typeof mcpScopes)[number];

export interface GrantedBrand {
  id: number;
  name: string;
}

/** An account that the user chose for an assistant, with the chosen brands. */
export interface GrantedAccount {
  accountId: number;
  accountName: string;
  /** The role that the user has now. */
  role: Role;
  brands: GrantedBrand[];
  /** Whether these are all brands that the account has now. */
  hasAllBrands: boolean;
}

export interface GrantSelection {
  accountId: number;
  /** Null: no brand. */
  brandId: number | null;
}

/** A client that calls for a user, by an access token. All of it is read at each call. */
export interface GrantCaller {
  grantId: number;
  userId: number;
  clientId: string;
  /** What the client calls itself. */
  clientName: string;
  /** Those of the token, which may have fewer than the grant. */
  scopes: ReadonlySet<McpScope>;
  /** What the user chose, without what the user may not use any more. */
  choices: GrantedAccount[];
  /** Null if nothing is selected, or if the selection is not among the choices any more. */
  selected: GrantSelection | null;
}

/**
 * Finds the caller by an access token.
 * @param resource the URL for which the token must have been issued
 * @returns null unless the token is valid there
 */
export type FindGrantCaller = (
  db: Queryable,
  accessToken: string,
  resource: string,
) => Promise<GrantCaller | null>;
