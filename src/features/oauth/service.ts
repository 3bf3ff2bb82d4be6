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
  type GrantFilter,
  type ListedGrant,
  listGrants,
  revokeGrant,
  revokeGrantsOfUser,
} from './grant-list.ts';
