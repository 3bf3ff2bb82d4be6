/**
 * Filters in flows. They take the fields of segments and some that only a run knows: `trigger.<path>`,
 * `received.<path>`, `step.<id>.<path>`, and opens and clicks of one step's message. Those are evaluated in memory; all
 * others become one SQL condition on the contact.
 */
import type { Queryable } from '../../platform/db/queryable.ts';
import {
  compileConditions,
  type Condition,
  constantOf,
  fold,
  type FlowNames,
  loadConditions,
  type Operand,
  parseFilters,
  type Problem,
  type SimulatedChanges,
  unrenderedProblems,
} from '../segments/index.ts';
import { answersSql } from './steps/index.ts';

type Data = Readonly<Record<string, unknown>>;

/** What a step of a run has left for filters. */
export interface StepOutput {
  /** The response to a webhook step: `status` and `body`, as in `flow_run_steps.detail`; null: there is none. */
  answer: Data | null;
  /** When the message of an email step was first opened; null: never. `clickedAt`: its first click. */
  openedAt: Date | null;
  clickedAt: Date | null;
}

/** What the filters of a flow are evaluated for. */
export interface FilterScope {
  brandId: number;
  contactId: number;
  asOf: Date;
  /** The data of the event that started the run; null: it was not started by an event. */
  trigger: Data | null;
  /** The data of the event that arrived for a wait. */
  received: Data | null;
  /** Called once, and only if the filters name steps. Steps without an output are absent. */
  steps(ids: readonly number[]): Promise<ReadonlyMap<number, StepOutput>>;
  /** What a simulated run has changed; the database does not have it. */
  changes?: SimulatedChanges;
}

const COMPARE_INSTEAD = '; steps compare with a value of the run by {"from": "trigger.cart_id"}';

/**
 * Checks the filters of a flow when it is saved, except that the lists and segments they name exist.
 * @param where the types of the preceding steps, by id, and whether the filters belong to a `wait_for_event` step
 * @returns the problems, each with its path below the filters, such as `[0, 'value']`
 */
export function flowFilterProblems(filters: readonly unknown[], where: FlowNames): Problem[] {
  const { problems } = parseFilters(filters, where, { strict: true });
  return [...problems, ...unrenderedProblems(filters, COMPARE_INSTEAD)];
}

const stepOf = (operand: Operand): number[] =>
  'of' in operand && typeof operand.of === 'object' ? [operand.of.step] : [];

function stepsIn(conditions: readonly Condition[]): number[] {
  return conditions.flatMap((condition) => {
    switch (condition.type) {
      case 'all':
      case 'any':
        return stepsIn(condition.parts);
      case 'not':
        return stepsIn([condition.part]);
      case 'engaged':
        return [condition.step];
      case 'value':
        return stepOf(condition.operand);
      case 'compared':
        return [...stepOf(condition.operand), ...stepOf(condition.from)];
      default:
        return [];
    }
  });
}

/**
 * Whether a contact matches all filters. A contact that does not exist matches none.
 * @throws AppError validation_error if the filters are invalid; those of a saved flow are valid
 */
export async function flowMatches(
  db: Queryable,
  scope: FilterScope,
  filters: readonly unknown[],
): Promise<boolean> {
  const { brandId, contactId, asOf, changes } = scope;
  const conditions = await loadConditions(db, { brandId }, filters, { steps: null, received: true });
  const named = [...new Set(stepsIn(conditions))];
  const steps = named.length > 0 ? await scope.steps(named) : new Map<number, StepOutput>();
  const folded = fold(
    { type: 'all', parts: conditions },
    {
      asOf,
      valuesOf: (values) =>
        typeof values === 'object' ? (steps.get(values.step)?.answer ?? null) : scope[values],
      engagedAt: (kind, step) =>
        steps.get(step)?.[kind === 'email_opened' ? 'openedAt' : 'clickedAt'] ?? null,
      ...(changes && { changes }),
    },
  );
  if (constantOf(folded) === false) return false;
  const condition = await compileConditions(db, { brandId, asOf, few: true }, [folded], 3);
  const { rows } = await db.query(
    `select 1 from contacts c where c.brand_id = $1 and c.id = $2 and ${condition.sql}`,
    [brandId, contactId, ...condition.values],
  );
  return rows.length > 0;
}

/** Reads the outputs of steps of a run that filters use. */
export async function readStepOutputs(
  db: Queryable,
  runId: number,
  ids: readonly number[],
): Promise<Map<number, StepOutput>> {
  const { rows } = await db.query<{
    step_id: number;
    answer: Data | null;
    openedAt: Date | null;
    clickedAt: Date | null;
  }>(
    `select s.step_id, case when ${answersSql('s')} then s.detail end as answer,
       m.opened_at as "openedAt", m.clicked_at as "clickedAt"
     from flow_run_steps s left join messages m on m.id = s.message_id
     where s.run_id = $1 and s.step_id = any($2) order by s.iteration`,
    [runId, ids],
  );
  return new Map(rows.map(({ step_id: id, ...output }) => [id, output]));
}
