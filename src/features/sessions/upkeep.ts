import { batchTask, daysBefore } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import { IDLE_HOURS } from '../../platform/auth/session.ts';
import { KNOWN_NETWORK_DAYS } from './known-networks.ts';

const oldNetworks = batchTask(
  'login_networks',
  `delete from login_networks where ctid = any (array(
     select ctid from login_networks where logged_in_at < $1 limit $2))`,
  (_deps, asOf) => daysBefore(asOf, KNOWN_NETWORK_DAYS),
);

const expiredSessions = batchTask(
  'sessions',
  `delete from sessions where id = any (array(
     select id from sessions where expires_at < $1
       or kind = 'cookie' and last_used_at < $1::timestamptz - interval '${IDLE_HOURS} hours' limit $2))`,
);

/** Tokens that versions without `sessions` have ended; none is valid any more. */
const endedTokens = batchTask(
  'ended_sessions',
  `delete from ended_sessions where token_id = any (array(
     select token_id from ended_sessions where expires_at < $1 limit $2))`,
);

export const sessionsUpkeep: Upkeep = { tasks: [oldNetworks, expiredSessions, endedTokens] };
