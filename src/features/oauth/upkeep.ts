import { batchTask, daysBefore } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import { UNUSED_CLIENT_HOURS } from './clients.ts';

/** How long ended grants are kept, and clients whose grants have all ended. */
const KEPT_DAYS = 90;
const HOUR_MS = 3_600_000;

/** A used code stays for a day, so that a copy of it ends the grant. Strangers can begin authorizations, which do not. */
const expiredTokens = batchTask(
  'oauth_tokens',
  `delete from oauth_tokens where ctid = any (array(
     select ctid from oauth_tokens where expires_at < $1
       and (model = 'Interaction' or expires_at < $1::timestamptz - interval '1 day') limit $2))`,
);

/** An answer is sealed with the used token, which protects the new ones no longer than it must. */
const oldAnswers = batchTask(
  'oauth_answers',
  `update oauth_tokens set answer = null where ctid = any (array(
     select ctid from oauth_tokens where answer is not null and consumed_at < $1 limit $2))`,
  (_deps, asOf) => new Date(asOf.getTime() - HOUR_MS),
);

const endedGrants = batchTask(
  'oauth_grants',
  `delete from oauth_grants where id = any (array(
     select id from oauth_grants where least(expires_at, revoked_at) < $1 limit $2))`,
  (_deps, asOf) => daysBefore(asOf, KEPT_DAYS),
);

const unusedClients = batchTask(
  'oauth_clients',
  `delete from oauth_clients where id = any (array(
     select id from oauth_clients
     where last_used_at is null and created_at < $1::timestamptz - interval '${UNUSED_CLIENT_HOURS} hours'
       or last_used_at < $1::timestamptz - interval '${KEPT_DAYS} days'
         and not exists (select 1 from oauth_grants where client_id = oauth_clients.id)
     limit $2))`,
);

export const oauthUpkeep: Upkeep = { tasks: [expiredTokens, oldAnswers, endedGrants, unusedClients] };
