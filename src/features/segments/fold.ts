import { before, type Condition, type RunValues, type StepEngagement } from './language.ts';
import { testPasses, valueAt } from './memory.ts';

/** What a run of a flow knows, and SQL does not. */
export interface KnownValues {
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

function foldGroup(type: 'all' | 'any', parts: readonly Condition[], values: KnownValues): Condition {
  // False decides an `all`, true an `any`.
  const deciding = type === 'any';
  const folded = parts.map((part) => fold(part, values));
  if (folded.some((part) => constantOf(part) === deciding)) return constant(deciding);
  const open = folded.filter((part) => constantOf(part) === null);
  return open.length === 1 ? (open[0] as Condition) : { type, parts: open };
}

function foldLists(ids: readonly number[], lists: ReadonlyMap<number, boolean>): Condition {
  if (ids.some((id) => lists.get(id) === true)) return constant(true);
  const unchanged = ids.filter((id) => !lists.has(id));
  return unchanged.length === 0 ? constant(false) : { type: 'list', ids: unchanged };
}

function foldDid(condition: Condition & { type: 'did' }, values: KnownValues): Condition {
  const { activity, atLeast, within } = condition;
  if (!('event' in activity) || !values.changes) return condition;
  const since = within && before(values.asOf, within);
  const own = values.changes.events.filter(
    ({ name, at }) => name === activity.event && (since === null || at >= since),
  );
  return own.length >= atLeast ? constant(true) : { ...condition, atLeast: atLeast - own.length };
}

function foldValue(condition: Condition & { type: 'value' }, values: KnownValues): Condition {
  const { operand, test } = condition;
  if ('column' in operand) return condition;
  const changed = values.changes?.data ?? {};
  if (!('of' in operand) && !Object.hasOwn(changed, operand.path[0] ?? '')) return condition;
  const object = 'of' in operand ? values.valuesOf(operand.of) : changed;
  return constant(testPasses(valueAt(object, operand.path), test, values.asOf));
}

/**
 * Replaces what only a run of a flow knows by constants.
 * @returns a condition for `matches` or SQL, as short as the constants make it
 */
export function fold(condition: Condition, values: KnownValues): Condition {
  switch (condition.type) {
    case 'all':
    case 'any':
      return foldGroup(condition.type, condition.parts, values);
    case 'not': {
      const part = fold(condition.part, values);
      const known = constantOf(part);
      return known === null ? { type: 'not', part } : constant(!known);
    }
    case 'value':
      return foldValue(condition, values);
    case 'list':
      return values.changes ? foldLists(condition.ids, values.changes.lists) : condition;
    case 'did':
      return foldDid(condition, values);
    case 'engaged': {
      const at = values.engagedAt(condition.kind, condition.step);
      return constant(at !== null && (!condition.within || at >= before(values.asOf, condition.within)));
    }
    case 'segment':
      throw new Error('a referenced segment must be replaced by its filters');
  }
}
