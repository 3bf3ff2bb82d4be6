/** Reads the versions of flows that runs follow. A version never changes, so it may be cached. */
import { LRUCache } from 'lru-cache';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { FlowRow } from './model.ts';
import type { Step } from './steps/index.ts';
import { fromStored, toStored } from './steps/secret-headers.ts';
import type { Filters } from './steps/step.ts';

/** Maximum number of versions that a process caches. Each has at most 200 steps. */
const MAX_CACHED = 500;

/** There is no such version. */
export class FlowVersionMissingError extends Error {}

/** The steps and trigger data that a run follows from its entry to its end. */
export interface FlowVersion {
  id: number;
  flowId: number;
  /** The name of the event that ends a run. */
  goal: string | null;
  exitFilters: Filters;
  steps: readonly Step[];
}

/**
 * @param db the caller's transaction: it must not wait for a further connection
 * @throws FlowVersionMissingError
 */
export type FlowVersionReader = (versionId: number, db?: Queryable) => Promise<FlowVersion>;

/** Returns a function that finds a version in a cache or the database. Concurrent callers share one query. */
export function createFlowVersionReader(pool: Queryable): FlowVersionReader {
  const cache = new LRUCache<number, FlowVersion, Queryable>({
    max: MAX_CACHED,
    async fetchMethod(id, _known, { context: db }) {
      const { rows } = await db.query<FlowVersion>({
        name: 'read-flow-version',
        text: `select id, flow_id as "flowId", goal, exit_filters as "exitFilters", steps
               from flow_versions where id = $1`,
        values: [id],
      });
      const [version] = rows;
      return version && { ...version, steps: fromStored(version.steps) };
    },
  });
  return async (id, db = pool) => {
    const version = await cache.fetch(id, { context: db });
    if (!version) throw new FlowVersionMissingError(`there is no version ${id}`);
    return version;
  };
}

type VersionedFlow = Pick<
  FlowRow,
  'id' | 'goal' | 'steps' | 'trigger_event' | 'contact_list_id' | 'segment_id' | 'trigger_data'
>;

/**
 * Stores the steps and trigger of a locked flow as a version, unless its newest version is the same.
 * @returns the id of the version
 */
export async function writeFlowVersion(
  trx: Queryable,
  { id, goal, steps, trigger_data, ...row }: VersionedFlow,
): Promise<number> {
  const { trigger_event, contact_list_id, segment_id } = row;
  const trigger = { trigger_event, contact_list_id, segment_id, trigger_data };
  const { rows } = await trx.query<{ id: number }>(
    `with newest as (
       select id, n, goal is not distinct from $2::text and exit_filters = $3::jsonb and steps = $4::jsonb
         and trigger = $5::jsonb as same
       from flow_versions where flow_id = $1 order by n desc limit 1),
     written as (
       insert into flow_versions (flow_id, n, goal, exit_filters, steps, trigger)
       select $1, coalesce((select n from newest), 0) + 1, $2, $3, $4, $5
       where not exists (select 1 from newest where same) returning id)
     select id from written union all select id from newest where same`,
    [
      id,
      goal,
      JSON.stringify(trigger_data.exit_filters ?? []),
      JSON.stringify(toStored(steps)),
      JSON.stringify(trigger),
    ],
  );
  return (rows[0] as { id: number }).id;
}
