import type { Queryable } from '../../../platform/db/queryable.ts';
import type { FlowStatus } from '../model.ts';

/** A row of `flow_cohorts`, with the state of its flow. */
export interface LoadedCohort {
  id: number;
  account_id: number;
  flow_id: number;
  size: number;
  created_at: Date;
  closed_at: Date | null;
  ended_at: Date | null;
  engine_expected_by: Date | null;
  flow_status: FlowStatus;
}

/** @returns null if there is none, because its flow has been deleted */
export async function loadCohort(db: Queryable, id: number): Promise<LoadedCohort | null> {
  const { rows } = await db.query<LoadedCohort>({
    name: 'load_flow_cohort',
    text: `select c.id, c.account_id, c.flow_id, c.size, c.created_at, c.closed_at, c.ended_at, c.engine_expected_by,
             f.status as flow_status
           from flow_cohorts c join flows f on f.id = c.flow_id where c.id = $1`,
    values: [id],
  });
  return rows[0] ?? null;
}
