import { before, type Condition, type RunValues, type StepEngagement } from './language.ts';
import { testPasses, valueAt } from './memory.ts';

/** What a run of a flow knows, and SQL does not. */
export interface RunFacts {
  asOf: Date;
  /** The object in which `trigger.<path>`, `received.<path>` or `step.<id>.<path>` is looked up. */
  valuesOf(values: RunValues): unknown;
  /** When the contact first opened, or clicked in, the message of a step; null: never. */
  engagedAt(kind: StepEngagement, step: number): Date | null;
  /** What a simulated run has changed, of which the database knows nothing. */
  changes?: SimulatedChanges;
}

/** What a run would have changed of its contact. */
export interface SimulatedChanges {
  /** Keys of `data`; null: removed. */
  data: Readonly<Record<string, unknown>>;
  /** Lists by id: whether the contact is in them. */
  lists: ReadonlyMap<number, boolean>;
  /** The events that it tracked. */
  events: readonly { name: string; at: Date }[];
}

const constant = (holds: boolean): Condition => ({ type: holds ? 'all' : 'any', parts: [] });

/** @returns null if it depends on more */
export function constantOf(condition: Condition): boolean | null {
  const isGroup = condition.type === 'all' || condition.type === 'any';
  return isGroup && condition.parts.length === 0 ? condition.type === 'all' : null;
}

function foldGroup(type: 'all' | 'any', parts: readonly Condition[], facts: RunFacts): Condition {
  // False decides an `all`, true an `any`.
  const deciding = type === 'any';
  const folded = parts.map((part) => fold(part, facts));
  if (folded.some((part) => constantOf(part) === deciding)) return constant(deciding);
  const open = folded.filter((part) => constantOf(part) === null);
  return open.length === 1 ? (open[0] as Condition) : { type, parts: open };
}

function foldLists(ids: readonly number[], lists: ReadonlyMap<number, boolean>): Condition {
  if (ids.some((id) => lists.get(id) === true)) return constant(true);
  const unchanged = ids.filter((id) => !lists.has(id));
  return unchanged.length === 0 ? constant(false) : { type: 'list', ids: unchanged };
}

function foldDid(condition: Condition & { type: 'did' }, facts: RunFacts): Condition {
  const { activity, atLeast, within } = condition;
  if (!('event' in activity) || !facts.changes) return condition;
  const since = within && before(facts.asOf, within);
  const own = facts.changes.events.filter(
    ({ name, at }) => name === activity.event && (since === null || at >= since),
  );
  return own.length >= atLeast ? constant(true) : { ...condition, atLeast: atLeast - own.length };
}

function foldValue(condition: Condition & { type: 'value' }, facts: RunFacts): Condition {
  const { operand, test } = condition;
  if ('column' in operand) return condition;
  const changed = facts.changes?.data ?? {};
  if (!('of' in operand) && !Object.hasOwn(changed, operand.path[0] ?? '')) return condition;
  const object = 'of' in operand ? facts.valuesOf(operand.of) : changed;
  return constant(testPasses(valueAt(object, operand.path), test, facts.asOf));
}

/**
 * Replaces what only a run of a flow knows by constants.
 * @returns a condition for `matches` or SQL, as short as the constants make it
 */
export function fold(condition: Condition, facts: RunFacts): Condition {
  switch (condition.type) {
    case 'all':
    case 'any':
      return foldGroup(condition.type, condition.parts, facts);
    case 'not': {
      const part = fold(condition.part, facts);
      const known = constantOf(part);
      return known === null ? { type: 'not', part } : constant(!known);
    }
    case 'value':
      return foldValue(condition, facts);
    case 'list':
      return facts.changes ? foldLists(condition.ids, facts.changes.lists) : condition;
    case 'did':
      return foldDid(condition, facts);
    case 'engaged': {
      const at = facts.engagedAt(condition.kind, condition.step);
      return constant(at !== null && (!condition.within || at >= before(facts.asOf, condition.within)));
    }
    case 'segment':
      throw new Error('a referenced segment must be replaced by its filters');
  }
}
