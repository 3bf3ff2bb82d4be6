import type pg from 'pg';
import { sendingEvents } from '../../delivery/terms/events.ts';
import type { LimitSettings } from '../../delivery/ledger/limits/authority.ts';
import { settingIn } from '../../delivery/terms/sql-parts.ts';
import { allowance } from '../../delivery/ledger/limits/allowance.ts';
import { createEvent } from '../../platform/events/define.ts';
import type { EventPublisher, QueuedWork } from '../../platform/events/publish.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { forEachBrand } from './rates.ts';

/** Shares of the allowance at which episodes begin, and below which they end. */
const APPROACHING = { begins: 0.8, ends: 0.7 };
const REACHED = { begins: 1, ends: 0.8 };

/** Advisory lock: one worker at a time checks the episodes. */
const EPISODE_LOCK = 1_129_468_236;

interface Changed {
  accountId: number;
  allowance: number;
  used: number;
  resetsAt: Date;
  approachingNow: boolean;
  reachedNow: boolean;
}

const stillSql = (name: 'approaching' | 'reached', { begins, ends }: typeof REACHED) => `
  (f."limit" > 0 and (f.used >= ${begins} * f."limit" or (coalesce(e.${name}, false) and f.used >= ${ends} * f."limit")))`;

/**
 * Finds the accounts whose episodes begin or end, and stores the change. Only accounts that reserved messages within
 * the last twenty minutes, and those in an episode, can change.
 */
async function changeEpisodes(trx: Queryable, settings: LimitSettings): Promise<Changed[]> {
  const { rows } = await trx.query<Changed>(
    `with candidates as materialized (
       select distinct account_id from allowance_buckets where bucket > now() - interval '20 minutes'
       union select account_id from allowance_episodes where approaching or reached
     ), states as materialized (
       select a.id as account_id, f."limit", f.used, f.resets_at, ${stillSql('approaching', APPROACHING)} as approaching,
         ${stillSql('reached', REACHED)} as reached, coalesce(e.approaching, false) as was_approaching,
         coalesce(e.reached, false) as was_reached
       from candidates c join accounts a on a.id = c.account_id
       cross join lateral (${allowance.figures(settingIn('$1::jsonb'))}) f
       left join allowance_episodes e on e.account_id = a.id
       where a.kind = 'customer'
     ), stored as (
       insert into allowance_episodes (account_id, approaching, reached)
       select account_id, approaching, reached from states
       where (approaching, reached) is distinct from (was_approaching, was_reached) order by account_id
       on conflict (account_id) do update set approaching = excluded.approaching, reached = excluded.reached
     )
     select account_id as "accountId", "limit" as allowance, used, coalesce(resets_at, now()) as "resetsAt",
       approaching and not was_approaching as "approachingNow", reached and not was_reached as "reachedNow"
     from states where (approaching and not was_approaching) or (reached and not was_reached) order by account_id`,
    [JSON.stringify(settings)],
  );
  return rows;
}

/**
 * Publishes `sending.limit_approaching` and `sending.limit_reached` once per episode: the first begins at 80% of the
 * rolling allowance and ends below 70%, the second begins at 100% and ends below 80%.
 */
export function publishEpisodes(
  pool: pg.Pool,
  events: EventPublisher,
  settings: LimitSettings,
): Promise<QueuedWork> {
  return inTransaction(pool, async (trx) => {
    const { rows } = await trx.query<{ locked: boolean }>(
      `select pg_try_advisory_xact_lock(${EPISODE_LOCK}) as locked`,
    );
    if (!rows[0]?.locked) return new Map();
    const occurredAt = new Date();
    const published = [];
    for (const change of await changeEpisodes(trx, settings)) {
      const { accountId, used, resetsAt } = change;
      const data = { allowance: change.allowance, used, resets_at: resetsAt.toISOString() };
      const begun = [
        ...(change.approachingNow ? [sendingEvents.limitApproaching] : []),
        ...(change.reachedNow ? [sendingEvents.limitReached] : []),
      ];
      for (const definition of begun) {
        const eventOf = (brandId: number) =>
          createEvent(definition, { accountId, brandId, occurredAt, data });
        published.push(...(await forEachBrand(trx, accountId, eventOf)));
      }
    }
    return events.publish(trx, published);
  });
}
