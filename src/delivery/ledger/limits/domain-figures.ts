import type { Queryable } from '../../../platform/db/queryable.ts';
import type { LimitSettings } from './authority.ts';
import { settingIn } from '../../terms/sql-parts.ts';
import { paceSql } from './pacing.ts';
import { TOMORROW, WARMING } from './warm-up.ts';

/** What a sending domain may still send. */
export interface DomainFigures {
  /** Null: the domain does not warm up. */
  warmUp: { limit: number; used: number; remaining: number; resetsAt: Date } | null;
  /** Null: no bound but the provider's. */
  perMinute: number | null;
}

interface Row {
  daily_limit: number | null;
  used: number | null;
  tomorrow: Date;
  per_minute: number | null;
}

/** Reads the figures of a domain by the SQL of the limits. It reserves nothing. */
export async function readDomainFigures(
  db: Queryable,
  domainId: number,
  settings: LimitSettings,
): Promise<DomainFigures> {
  const { rows } = await db.query<Row>(
    `select w.daily_limit, w.used, ${TOMORROW} as tomorrow,
       ${paceSql(settingIn('$2::jsonb')('pacing_per_minute'))} as per_minute
     from (select $1::bigint as id) domain left join (${WARMING}) w on w.domain_id = domain.id
     left join domain_paces p on p.domain_id = domain.id`,
    [domainId, JSON.stringify(settings)],
  );
  const { daily_limit: limit, used, tomorrow, per_minute: perMinute } = rows[0] as Row;
  if (limit === null) return { warmUp: null, perMinute };
  const sent = used ?? 0;
  const remaining = Math.max(0, limit - sent);
  return { warmUp: { limit, used: sent, remaining, resetsAt: tomorrow }, perMinute };
}
