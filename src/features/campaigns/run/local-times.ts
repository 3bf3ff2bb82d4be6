import type { Queryable } from '../../../platform/db/queryable.ts';
import type { CampaignRow } from '../model.ts';
import { countryZones } from '../../../delivery/terms/addresses/country-zones.ts';

/** When a campaign is due by local clocks, for each zone and country that contacts may have. */
export interface LocalTimes {
  /** Zone names in lower case, and the time for each, in ISO 8601. */
  zones: { names: string[]; dues: string[] };
  /** ISO 3166 codes. */
  countries: { codes: string[]; dues: string[] };
  /** For contacts without a known zone or country: the time in the zone of the brand, else in UTC. */
  otherwise: string;
}

/**
 * Computes when clocks show the UTC clock time of `scheduled_at` in each zone. If they skip it, it is the moment after
 * the change.
 */
export async function localTimes(db: Queryable, row: CampaignRow): Promise<LocalTimes> {
  const at = row.scheduled_at ?? row.snapshot_at ?? new Date();
  const { rows } = await db.query<{ name: string; due: Date }>(
    `select lower(name) as name, min(timezone(name, $1::timestamptz at time zone 'UTC')) as due
     from pg_timezone_names group by 1`,
    [at],
  );
  const dueOf = new Map(rows.map(({ name, due }) => [name, due.toISOString()]));
  const brand = await db.query<{ timezone: string | null }>('select timezone from brands where id = $1', [
    row.brand_id,
  ]);
  const inUtc = at.toISOString();
  const known = [...countryZones].flatMap(([code, zone]) => {
    const due = dueOf.get(zone.toLowerCase());
    return due === undefined ? [] : [{ code, due }];
  });
  return {
    zones: { names: [...dueOf.keys()], dues: [...dueOf.values()] },
    countries: { codes: known.map(({ code }) => code), dues: known.map(({ due }) => due) },
    otherwise: dueOf.get(brand.rows[0]?.timezone?.toLowerCase() ?? 'utc') ?? inUtc,
  };
}
