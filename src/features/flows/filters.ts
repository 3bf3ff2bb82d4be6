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

/** The run for which filters of a flow are evaluated, and when. */
export interface RunScope {
  brandId: number;
  contactId: number;
  asOf: Date;
  /** The data of the event that started the run; null: it was not started by an event. */
  trigger: Data | null;
  /** The data of the event that arrived for a wait. */
  received: Data | null;
  /** What a simulated run has changed; the database does not have it. */
  changes?: SimulatedChanges;
}

/** What the filters of a flow are evaluated for. */
export interface FilterScope extends RunScope {
  /** Called once, and only if the filters name steps. Steps without an output are absent. */
  steps(ids: readonly number[]): Promise<ReadonlyMap<number, StepOutput>>;
}

/** Whether the contact of a run matches filters. */
export interface FilterQuestion<Scope extends RunScope = RunScope> {
  scope: Scope;
  filters: readonly unknown[];
}

/** The steps of a run whose outputs filters name. */
export interface WantedOutputs<Scope extends RunScope> {
  scope: Scope;
  ids: readonly number[];
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

type Outputs = ReadonlyMap<number, StepOutput>;

/** Replaces what only the run of the scope knows. */
function foldFor(
  { asOf, trigger, received, changes }: RunScope,
  conditions: readonly Condition[],
  steps: Outputs,
): Condition {
  const data = { trigger, received };
  return fold(
    { type: 'all', parts: conditions },
    {
      asOf,
      valuesOf: (values) =>
        typeof values === 'object' ? (steps.get(values.step)?.answer ?? null) : data[values],
      engagedAt: (kind, step) =>
        steps.get(step)?.[kind === 'email_opened' ? 'openedAt' : 'clickedAt'] ?? null,
      ...(changes && { changes }),
    },
  );
}

/** SQL: finds the contacts of $2 that match. Each is looked up alone, so that the plan is the one for few contacts. */
const matchingSql = (condition: string) => `
  select u.id from unnest($2::bigint[]) as u (id) cross join lateral (
    select from contacts c where c.brand_id = $1 and c.id = u.id and ${condition} limit 1) matching`;

/** The same for questions that one query can answer. JSON has no infinite numbers, which large ones of events become. */
const keyOf = ({ brandId, asOf }: RunScope, condition: Condition) =>
  JSON.stringify([brandId, asOf, condition], (_, value: unknown) =>
    typeof value === 'number' && !Number.isFinite(value) ? String(value) : value,
  );

async function findMatching(
  db: Queryable,
  { brandId, asOf }: RunScope,
  contactIds: readonly number[],
  condition: Condition,
): Promise<Set<number>> {
  if (constantOf(condition) === false) return new Set();
  const { sql, values } = await compileConditions(db, { brandId, asOf, few: true }, [condition], 3);
  const { rows } = await db.query<{ id: number }>(matchingSql(sql), [
    brandId,
    [...new Set(contactIds)],
    ...values,
  ]);
  return new Set(rows.map(({ id }) => id));
}

/** Parses the filters of each question. Questions with the same filters share the result. */
async function loadEach(db: Queryable, questions: readonly FilterQuestion[]): Promise<Condition[][]> {
  const known = new Map<string, Condition[]>();
  const loaded: Condition[][] = [];
  for (const { scope, filters } of questions) {
    const { brandId } = scope;
    const key = `${brandId} ${JSON.stringify(filters)}`;
    const conditions =
      known.get(key) ?? (await loadConditions(db, { brandId }, filters, { steps: null, received: true }));
    known.set(key, conditions);
    loaded.push(conditions);
  }
  return loaded;
}

/**
 * Whether contacts match all filters. A contact that does not exist matches none. Questions that are the same, once the
 * values of the runs are known, share one query.
 * @param readOutputs reads the outputs of steps that the filters name; called at most once
 * @returns for each question
 * @throws AppError validation_error if filters are invalid; those of a saved flow are valid
 */
export async function flowMatchesEach<Scope extends RunScope>(
  db: Queryable,
  questions: readonly FilterQuestion<Scope>[],
  readOutputs: (wanted: readonly WantedOutputs<Scope>[]) => Promise<readonly Outputs[]>,
): Promise<boolean[]> {
  const loaded = await loadEach(db, questions);
  const wanted = questions.flatMap(({ scope }, n) => {
    const ids = [...new Set(stepsIn(loaded[n] ?? []))];
    return ids.length > 0 ? { scope, ids, n } : [];
  });
  const outputs = wanted.length > 0 ? await readOutputs(wanted) : [];
  const outputsOf = new Map(wanted.map(({ n }, index) => [n, outputs[index] ?? new Map()]));
  const folded = questions.map(({ scope }, n) => {
    const condition = foldFor(scope, loaded[n] ?? [], outputsOf.get(n) ?? new Map());
    return { n, scope, condition, key: keyOf(scope, condition) };
  });
  const matches = questions.map(() => false);
  for (const group of Map.groupBy(folded, ({ key }) => key).values()) {
    const [{ scope, condition }] = group as [(typeof group)[number]];
    const contactIds = group.map((one) => one.scope.contactId);
    const matching = await findMatching(db, scope, contactIds, condition);
    for (const one of group) matches[one.n] = matching.has(one.scope.contactId);
  }
  return matches;
}

/** Whether a contact matches all filters, see {@link flowMatchesEach}. */
export async function flowMatches(
  db: Queryable,
  scope: FilterScope,
  filters: readonly unknown[],
): Promise<boolean> {
  const [matches = false] = await flowMatchesEach(db, [{ scope, filters }], (wanted) =>
    Promise.all(wanted.map((one) => one.scope.steps(one.ids))),
  );
  return matches;
}

/** Reads the outputs of steps that filters use. @returns for each run, those of its steps that have an output */
export async function readStepOutputs(
  db: Queryable,
  wanted: readonly { runId: number; ids: readonly number[] }[],
): Promise<Map<number, StepOutput>[]> {
  const { rows } = await db.query<StepOutput & { runId: number; stepId: number }>({
    name: 'outputs_of_flow_steps',
    text: `
      select s.run_id as "runId", s.step_id as "stepId", case when ${answersSql('s')} then s.detail end as answer,
        m.opened_at as "openedAt", m.clicked_at as "clickedAt"
      from unnest($1::bigint[], $2::integer[]) as w (run_id, step_id)
      join flow_run_steps s on s.run_id = w.run_id and s.step_id = w.step_id
      left join messages m on m.id = s.message_id
      order by s.iteration`,
    values: [wanted.flatMap(({ runId, ids }) => ids.map(() => runId)), wanted.flatMap(({ ids }) => ids)],
  });
  const ofRun = Map.groupBy(rows, ({ runId }) => runId);
  return wanted.map(
    ({ runId }) =>
      new Map(
        ofRun
          .get(runId)
          ?.map(({ stepId, answer, openedAt, clickedAt }) => [stepId, { answer, openedAt, clickedAt }]),
      ),
  );
}
