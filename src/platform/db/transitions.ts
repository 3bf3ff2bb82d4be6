import { AppError } from '../../errors.ts';
import type { Queryable } from './queryable.ts';
import { RAISE_REVISION } from './revisions.ts';

/** The values that each column of a row may have. A column that is left out may have any value. */
type States<Row> = { readonly [Column in keyof Row]?: readonly Row[Column][] };

interface Entity<Row, Action extends string> {
  /** The noun that errors use, such as `campaign`. */
  noun: string;
  /** The table, with the columns `updated_at` and `revision`. */
  table: string;
  /** SQL that lists the columns of `Row`. */
  columns: string;
  /** Reads a row as a statement returned it; by default as it is. */
  read?(row: Row): Row;
  /** The states in which each action is allowed. */
  allowed: Readonly<Record<Action, States<Row>>>;
  /** Why an action is refused, if its name does not say enough. */
  refusals?: Partial<Readonly<Record<string, string>>>;
  /** Locks a row until the transaction ends. @returns null if there is none */
  lock(trx: Queryable, id: number): Promise<Row | null>;
  /** Wakes the workflow of a row that has changed. */
  wake(trx: Queryable, row: Row): Promise<void>;
}

/** The transitions of an entity's rows. The row in the database decides, under its lock. */
export interface Transitions<Row extends { status: string }, Action extends string> {
  isAllowed(action: Action, row: Row): boolean;
  /** @throws AppError invalid_transition */
  requireAllowed(row: Row, action: Action): void;
  /** @param what an action, or the status that a request asks for */
  refusal(row: Pick<Row, 'status'>, what: string): AppError;
  /** Locks a row for an action. @returns null if there is no row, or its state does not allow the action */
  begin(trx: Queryable, id: number, action: Action): Promise<Row | null>;
  /** Changes a locked row, and wakes its workflow when the transaction commits. @param set SQL that reads `$2` and up */
  changeLocked(trx: Queryable, id: number, set: string, values?: unknown[]): Promise<Row>;
  /**
   * Moves a row to the status that a request asks for.
   * @param status if undefined or the present status, nothing happens
   * @param changes how to move the row to each status; returns null if the row's state does not allow it
   * @throws AppError invalid_transition
   */
  toStatus(
    row: Row,
    status: Row['status'] | undefined,
    changes: { readonly [Status in Row['status']]?: () => Promise<Row | null> },
  ): Promise<Row>;
}

/** Defines which actions an entity allows in which states. */
export function defineTransitions<Row extends { status: string }, Action extends string>(
  entity: Entity<Row, Action>,
): Transitions<Row, Action> {
  const { noun, table, columns, refusals = {} } = entity;
  const transitions: Transitions<Row, Action> = {
    isAllowed(action, row) {
      const states = entity.allowed[action];
      return (Object.keys(states) as (keyof Row)[]).every((column) => states[column]?.includes(row[column]));
    },
    requireAllowed(row, action) {
      if (!transitions.isAllowed(action, row)) throw transitions.refusal(row, action);
    },
    refusal({ status }, what) {
      const reason = refusals[what] ?? `${what.replaceAll('_', ' ')} is not possible`;
      return new AppError('invalid_transition', `the ${noun} is ${status}: ${reason}`);
    },
    async begin(trx, id, action) {
      const row = await entity.lock(trx, id);
      return row && transitions.isAllowed(action, row) ? row : null;
    },
    async changeLocked(trx, id, set, values = []) {
      const { rows } = await trx.query(
        `update ${table} set ${set}, ${RAISE_REVISION}, updated_at = now() where id = $1 returning ${columns}`,
        [id, ...values],
      );
      const changed = rows[0] as Row;
      const row = entity.read?.(changed) ?? changed;
      await entity.wake(trx, row);
      return row;
    },
    async toStatus(row, status, changes) {
      if (status === undefined || status === row.status) return row;
      const changed = await changes[status]?.();
      if (!changed) throw transitions.refusal(row, status);
      return changed;
    },
  };
  return transitions;
}
