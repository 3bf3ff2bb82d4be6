/** Reads the values that all recipients of a campaign share, besides its content version. */
import { LRUCache } from 'lru-cache';
import type { Queryable } from '../../../platform/db/queryable.ts';

/** The values of brand and campaign that contents may show. */
export interface SharedValues {
  /** By the field names of Brand in the API. */
  brand: Record<string, unknown>;
  campaign: { id: number; name: string } | null;
  /** Parameters of the web links, such as `utm_source`. */
  linkParameters: readonly (readonly [name: string, value: string])[];
}

/** Identifies the brand and the campaign whose values are read. */
export interface SharedOf {
  accountId: number;
  brandId: number;
  campaignId: number | null;
}

interface CampaignRow {
  name: string;
  utm: Record<string, unknown> | null;
}

/** How long values are cached: changes of the brand or the options take effect after this time. */
const CACHED_MS = 10_000;
const MAX_CACHED = 500;
const UTM_NAMES = ['source', 'medium', 'campaign'];

/** Thrown if the campaign was deleted. */
export class SharedValuesMissingError extends Error {}

function parametersOf(utm: CampaignRow['utm']): SharedValues['linkParameters'] {
  return UTM_NAMES.flatMap((name) => {
    const value = utm?.[name];
    return typeof value === 'string' && value !== '' ? [[`utm_${name}`, value] as const] : [];
  });
}

async function readCampaign(
  db: Queryable,
  { accountId, brandId, campaignId }: SharedOf,
): Promise<CampaignRow> {
  const { rows } = await db.query<CampaignRow>({
    name: 'read_campaign_values',
    text: `select coalesce(sent_name, name) as name, options->'utm' as utm from campaigns where id = $3 and brand_id = $2 and account_id = $1`,
    values: [accountId, brandId, campaignId],
  });
  const [row] = rows;
  if (!row) throw new SharedValuesMissingError('the campaign no longer exists');
  return row;
}

/** Reads the values of a brand that contents may show, by the field names of Brand in the API. */
export type ReadBrand = (of: Pick<SharedOf, 'accountId' | 'brandId'>) => Promise<Record<string, unknown>>;

async function readShared(db: Queryable, of: SharedOf, readBrand: ReadBrand): Promise<SharedValues> {
  const { campaignId } = of;
  const [brand, campaign] = await Promise.all([
    readBrand(of),
    campaignId === null ? null : readCampaign(db, of),
  ]);
  return {
    brand,
    campaign: campaignId === null || !campaign ? null : { id: campaignId, name: campaign.name },
    linkParameters: parametersOf(campaign?.utm ?? null),
  };
}

/**
 * Returns a function that finds the values in a cache or else in the database. Concurrent callers share one query.
 * @returns a promise only if the values are not cached; it rejects with SharedValuesMissingError
 */
export function createSharedValues(
  db: Queryable,
  readBrand: ReadBrand,
): (of: SharedOf) => SharedValues | Promise<SharedValues> {
  const cache = new LRUCache<string, SharedValues>({ max: MAX_CACHED, ttl: CACHED_MS });
  const reading = new Map<string, Promise<SharedValues>>();
  return (of) => {
    const key = `${of.accountId}:${of.brandId}:${of.campaignId}`;
    const cached = cache.get(key);
    if (cached) return cached;
    const known = reading.get(key);
    if (known) return known;
    const promise = readShared(db, of, readBrand)
      .then((values) => {
        cache.set(key, values);
        return values;
      })
      .finally(() => reading.delete(key));
    reading.set(key, promise);
    return promise;
  };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Creates objects without a prototype, because a path may have the name of a property of `Object.prototype`. */
const emptyObject = () => Object.create(null) as Record<string, unknown>;

/** Nests values by path: `data.plan` becomes `plan` in `data`. */
export function nestValues(byPath: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const result = emptyObject();
  for (const [path, value] of Object.entries(byPath)) {
    const names = path.split('.');
    const last = names.pop() ?? '';
    let at = result;
    for (const name of names) {
      const next = at[name];
      at = isObject(next) ? next : (at[name] = emptyObject());
    }
    at[last] = value;
  }
  return result;
}
