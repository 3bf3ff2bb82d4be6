/** Decides which cohorts new runs of a flow go into. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { appendToOutbox } from '../../../platform/outbox/append.ts';
import { type CohortOfFlow, flowCohortWake } from '../workflow.ts';

/** Maximum number of runs of a cohort. */
const MAX_SIZE = 1_000;
/** How long a cohort takes new runs, in ms. */
export const OPEN_MS = 3_600_000;
/** How long after an entry the workflow must have acted, in minutes, before the reconciler checks that it runs. */
const EXPECTED_MINUTES = 10;

/** A flow whose entries are judged. */
interface FlowOfCohorts {
  id: number;
  account_id: number;
  brand_id: number;
}

interface OpenCohort extends CohortOfFlow {
  size: number;
  created_at: Date;
}

const columns = 'id, account_id as "accountId", brand_id as "brandId", flow_id, n, size, created_at';

async function lockOpen(trx: Queryable, flowId: number): Promise<OpenCohort | null> {
  const { rows } = await trx.query<OpenCohort>({
    name: 'lock_open_flow_cohort',
    text: `select ${columns} from flow_cohorts where flow_id = $1 and closed_at is null for no key update`,
    values: [flowId],
  });
  return rows[0] ?? null;
}

/** Housekeeping never deletes the cohort with the highest number, so no number is given twice. */
async function open(trx: Queryable, flow: FlowOfCohorts, asOf: Date): Promise<OpenCohort> {
  const { rows } = await trx.query<OpenCohort>({
    name: 'open_flow_cohort',
    text: `insert into flow_cohorts (account_id, brand_id, flow_id, n, created_at)
           select $1, $2, $3, coalesce(max(n), 0) + 1, $4 from flow_cohorts where flow_id = $3
           returning ${columns}`,
    values: [flow.account_id, flow.brand_id, flow.id, asOf],
  });
  return rows[0] as OpenCohort;
}

async function close(trx: Queryable, { id }: OpenCohort, asOf: Date): Promise<void> {
  await trx.query({
    name: 'close_flow_cohort',
    text: 'update flow_cohorts set closed_at = $2 where id = $1',
    values: [id, asOf],
  });
}

/**
 * Finds cohorts for new runs, and locks them, so that none of them ends before the runs are inserted. Closes those that
 * are full or old, and opens others.
 * @param trx the only transaction that judges entries of the flow at the time
 * @param count number of new runs
 * @returns the cohort of each
 */
export async function findPlaces(
  trx: Queryable,
  flow: FlowOfCohorts,
  count: number,
  asOf: Date,
): Promise<CohortOfFlow[]> {
  const places: CohortOfFlow[] = [];
  while (places.length < count) {
    const cohort = (await lockOpen(trx, flow.id)) ?? (await open(trx, flow, asOf));
    const isOld = cohort.created_at.getTime() + OPEN_MS <= asOf.getTime();
    const room = isOld ? 0 : Math.min(MAX_SIZE - cohort.size, count - places.length);
    for (let n = 0; n < room; n += 1) places.push(cohort);
    if (places.length < count) await close(trx, cohort, asOf);
  }
  return places;
}

/** Counts the runs that were inserted, and requests that their cohorts' workflows look at them. */
export async function fillPlaces(
  trx: Queryable,
  cohorts: readonly CohortOfFlow[],
  runs: readonly { cohort_id: number | null }[],
): Promise<void> {
  const filled = [...new Set(cohorts)].map((cohort) => ({
    cohort,
    n: runs.filter(({ cohort_id: id }) => id === cohort.id).length,
  }));
  await trx.query({
    name: 'fill_flow_cohorts',
    text: `update flow_cohorts c
           set size = c.size + f.n,
             engine_expected_by = least(c.engine_expected_by, now() + make_interval(mins => ${EXPECTED_MINUTES}))
           from jsonb_to_recordset($1::jsonb) as f (id bigint, n integer) where c.id = f.id`,
    values: [JSON.stringify(filled.map(({ cohort, n }) => ({ id: cohort.id, n })))],
  });
  await appendToOutbox(
    trx,
    filled.map(({ cohort }) => flowCohortWake(cohort)),
    1,
    { reuseWaiting: true },
  );
}
