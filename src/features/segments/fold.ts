import { compareWith } from './compare.ts';
import { before, type Condition, type RunValues, type StepEngagement } from './language.ts';
import { testPasses, valueAt } from './memory.ts';

/** What only a flow run knows, and SQL does not. */
export interface KnownValues {
  asOf: Date;
  /** Returns the object in which to look up `trigger.<path>`, `received.<path>` or `step.<id>.<path>`. */
  valuesOf(values: RunValues): unknown;
  /** When the contact first opened the message of a step, or clicked in it; null: never. */
  engagedAt(kind: StepEngagement, step: number): Date | null;
  /** Changes by a simulated run, which are not in the database. */
  changes?: SimulatedChanges;
}

/** What a real run would have changed in its contact. */
export interface SimulatedChanges {
  /** Keys of `data`; null: removed. */
  data: Readonly<Record<string, unknown>>;
  /** Whether the contact is in a list, by the list's id. */
  lists: ReadonlyMap<number, boolean>;
  /** The events that it tracked. */
  events: readonly { name: string; at: Date }[];
}

const constant = (holds: boolean): Condition => ({ type: holds ? 'all' : 'any', parts: [] });

/** @returns null if the condition is not constant */
export function constantOf(condition: Condition): boolean | null {
  const isGroup = condition.type === 'all' || condition.type === 'any';
  return isGroup && condition.parts.length === 0 ? condition.type === 'all' : null;
}

function foldGroup(type: 'all' | 'any', parts: readonly Condition[], values: KnownValues): Condition {
  // False decides an `all`, and true an `any`.
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

function foldCompared(condition: Condition & { type: 'compared' }, values: KnownValues): Condition {
  const { of, path } = condition.from;
  const made = compareWith(condition, valueAt(values.valuesOf(of), path));
  return made ? fold(made, values) : constant(false);
}

/**
 * Replaces what only a flow run knows by constants.
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
    case 'compared':
      return foldCompared(condition, values);
    case 'list':
      return values.changes ? foldLists(condition.ids, values.changes.lists) : condition;
    case 'did':
      return foldDid(condition, values);
    case 'engaged': {
      const at = values.engagedAt(condition.kind, condition.step);
      return constant(at !== null && (!condition.within || at >= before(values.asOf, condition.within)));
    }
    case 'segment':
      throw new Error('referenced segments must be replaced by their filters first');
  }
}
