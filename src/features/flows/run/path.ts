import type { Queryable } from '../../../platform/db/queryable.ts';
import type { Step } from '../steps/index.ts';
import type { StepResult } from './interpreter.ts';
import type { RefusedSend } from './send.ts';

/** A step that a run has taken. */
export interface PathRow {
  run: { id: number; flow_id: number };
  step: Pick<Step, 'id' | 'type'>;
  /** Its position in the path, from 0. */
  place: number;
  arrived: Date;
  left: Date;
  result: StepResult;
}

/**
 * SQL: adds steps to the paths of runs. A webhook step already has its row, with the response. A step that a run
 * reaches again after a move to another version gets another row.
 */
const writeSql = `
  insert into flow_run_steps
    (run_id, flow_id, step_id, iteration, n, type, outcome, detail, message_id, event_id, entered_at, left_at)
  select s.run_id, s.flow_id, s.step_id,
    coalesce((select max(o.iteration) + 1 from flow_run_steps o
      where o.run_id = s.run_id and o.step_id = s.step_id and o.left_at is not null), 0),
    s.n, s.type, s.outcome, s.detail, s.message_id, s.event_id, s.entered_at, s.left_at
  from jsonb_to_recordset($1::jsonb) as s (
    run_id bigint, flow_id bigint, step_id integer, n integer, type text, outcome text, detail jsonb, message_id bigint,
    event_id bigint, entered_at timestamptz, left_at timestamptz)
  on conflict (run_id, step_id, iteration) do update
  set n = excluded.n, outcome = excluded.outcome, detail = excluded.detail, entered_at = excluded.entered_at,
    left_at = excluded.left_at
  where flow_run_steps.left_at is null`;

async function writePath(trx: Queryable, path: readonly PathRow[]): Promise<void> {
  if (path.length === 0) return;
  const rows = path.map(({ run, step, place, arrived, left, result }) => ({
    run_id: run.id,
    flow_id: run.flow_id,
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
  await trx.query({ name: 'write_flow_paths', text: writeSql, values: [JSON.stringify(rows)] });
}

/** SQL: replaces the latest result of steps. */
const correctSql = `
  update flow_run_steps s set outcome = 'failed', detail = jsonb_build_object('reason', f.reason), message_id = null
  from unnest($1::bigint[], $2::integer[], $3::text[]) as f (run_id, step_id, reason)
  where s.run_id = f.run_id and s.step_id = f.step_id and s.iteration = (
    select max(o.iteration) from flow_run_steps o where o.run_id = f.run_id and o.step_id = f.step_id)`;

/** The steps that the runs of a transaction have taken. */
export interface Paths {
  add(row: PathRow): void;
  /** Writes the steps that were added since the last call. The runs are locked, so that their paths have no other writer. */
  write(): Promise<void>;
  /** Corrects steps whose messages a limit refused after they had been added. */
  correct(refused: readonly RefusedSend[]): Promise<void>;
}

export function createPaths(trx: Queryable): Paths {
  const added: PathRow[] = [];
  const write = () => writePath(trx, added.splice(0));
  return {
    add: (row) => void added.push(row),
    write,
    async correct(refused) {
      if (refused.length === 0) return;
      await write();
      await trx.query({
        name: 'correct_flow_paths',
        text: correctSql,
        values: [
          refused.map(({ runId }) => runId),
          refused.map(({ stepId }) => stepId),
          refused.map(({ reason }) => reason),
        ],
      });
    },
  };
}
