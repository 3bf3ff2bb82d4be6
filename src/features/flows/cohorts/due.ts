/**
 * SQL: when a run of a cohort is due, for the index `flow_runs_due`; `-infinity`: now, `infinity`: once its flow resumes.
 * Use it with `cohort_id is not null and state = 'active'`. A migration has the same expression.
 * @param run alias of `flow_runs`
 */
export function nextAtSql(run: string): string {
  return `coalesce(${run}.retry_at, case ${run}.waits_for
    when 'resume' then 'infinity'::timestamptz
    when 'webhook' then coalesce(${run}.call_at, '-infinity'::timestamptz)
    else coalesce(${run}.due_at, '-infinity'::timestamptz) end)`;
}
