import type { Queryable } from '../../../platform/db/queryable.ts';
import type { Step } from '../steps/index.ts';
import type { StepResult } from './interpreter.ts';

/** A step that a run has taken. */
export interface PathRow {
  step: Pick<Step, 'id' | 'type'>;
  /** Its position in the path, from 0. */
  place: number;
  arrived: Date;
  left: Date;
  result: StepResult;
}

/**
 * SQL: adds steps to the path of a run. A webhook step already has its row, with the response. A step that a run
 * reaches again after a move to another version gets another row.
 */
const writeSql = `
  insert into flow_run_steps
    (run_id, flow_id, step_id, iteration, n, type, outcome, detail, message_id, event_id, entered_at, left_at)
  select $1, $2, s.step_id,
    coalesce((select max(o.iteration) + 1 from flow_run_steps o
      where o.run_id = $1 and o.step_id = s.step_id and o.left_at is not null), 0),
    s.n, s.type, s.outcome, s.detail, s.message_id, s.event_id, s.entered_at, s.left_at
  from jsonb_to_recordset($3::jsonb) as s (
    step_id integer, n integer, type text, outcome text, detail jsonb, message_id bigint, event_id bigint,
    entered_at timestamptz, left_at timestamptz)
  on conflict (run_id, step_id, iteration) do update
  set n = excluded.n, outcome = excluded.outcome, detail = excluded.detail, entered_at = excluded.entered_at,
    left_at = excluded.left_at
  where flow_run_steps.left_at is null`;

/** @param run locked, so that no other transaction adds to its path */
export async function writePath(
  trx: Queryable,
  run: { id: number; flow_id: number },
  path: readonly PathRow[],
): Promise<void> {
  if (path.length === 0) return;
  const rows = path.map(({ step, place, arrived, left, result }) => ({
    step_id: step.id,
    n: place,
    type: step.type,
    outcome: result.outcome,
    detail: result.detail ?? null,
    message_id: result.messageId ?? null,
    event_id: result.eventId ?? null,
    entered_at: arrived,
    left_at: left,
  }));
  await trx.query({
    name: 'write_flow_path',
    text: writeSql,
    values: [run.id, run.flow_id, JSON.stringify(rows)],
  });
}
