export { type ListedClient, listClients } from './clients.ts';
export {
  createGrant,
  findGrantCaller,
  GRANT_IDLE_DAYS,
  type NewGrant,
  selectForGrant,
  tokenDigest,
} from './grants.ts';
export {
  countGrants,
  findHeldScopes,
  getGrant,
  type GrantFilter,
  type ListedGrant,
  listGrants,
  removeAccountFromGrants,
  revokeGrant,
  revokeGrantsOfUser,
} from './grant-list.ts';
