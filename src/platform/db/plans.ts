import pg from 'pg';
import { ConfigError } from '../../config.ts';

/**
 * From this major version on, a statement that waits for a row of a partitioned table, and then checks the row again,
 * may leave out all other rows, or crash PostgreSQL with a segmentation fault. Seen in 18.4. It happens if a generic
 * plan prunes partitions both when a statement starts and while it runs. EvalPlanQualStart() shares the statement's
 * pruning state with the plan of the check, which renumbers the partitions in it a second time. A custom plan prunes
 * partitions while it is planned, so it has no such state.
 */
const LOSES_ROWS_SINCE = 18;

/** @param version as PostgreSQL reports it, such as `18.4 (Debian 18.4-1)` */
export function losesRowsOfKeptPlans(version: string): boolean {
  return Number.parseInt(version, 10) >= LOSES_ROWS_SINCE;
}

interface ServerParameter {
  parameterName: string;
  parameterValue: string;
}

/** The protocol messages that pg's types leave out. */
interface ProtocolEvents {
  on(event: 'parameterStatus', listener: (parameter: ServerParameter) => void): void;
}

/**
 * A connection that keeps no plan if the server {@link losesRowsOfKeptPlans}. Each call is then planned for its values,
 * which is correct, but slower.
 */
export class PlanningClient extends pg.Client {
  #plansEachCall = false;

  constructor(config?: pg.ClientConfig) {
    super(config);
    const { connection } = this as unknown as { connection: ProtocolEvents };
    connection.on('parameterStatus', ({ parameterName, parameterValue }) => {
      if (parameterName === 'server_version') this.#plansEachCall = losesRowsOfKeptPlans(parameterValue);
    });
    const send = this.query.bind(this) as (...args: unknown[]) => unknown;
    this.query = ((first: unknown, ...others: unknown[]) =>
      send(this.#plansEachCall ? withoutName(first) : first, ...others)) as typeof this.query;
  }

  /**
   * Stops this connection from keeping plans, if the server may lose rows of them. What a pooler, the role or the
   * database has set stays: behind a pooler, the setting reaches a connection that any client may get next, and would
   * hide from {@link requireSafePlans} how the others are set.
   */
  stopKeptPlans(): void {
    // A lost connection fails the next statement, too.
    if (this.#plansEachCall) this.query(STOP_KEPT_PLANS).catch(() => undefined);
  }
}

const STOP_KEPT_PLANS = `select set_config(name, 'force_custom_plan', false) from pg_settings
  where name = 'plan_cache_mode' and source in ('client', 'default')`;

/**
 * Checks that a server which {@link losesRowsOfKeptPlans} plans each call for its values. With `force_generic_plan`, it
 * makes a general plan even for a statement without a name.
 * @param version as PostgreSQL reports it
 * @param planCacheMode the setting of a connection of the pool
 * @throws ConfigError
 */
export function requireSafePlans(version: string, planCacheMode: string): void {
  if (planCacheMode !== 'force_generic_plan' || !losesRowsOfKeptPlans(version)) return;
  throw new ConfigError(
    'PostgreSQL 18 and later may lose rows of general plans: let the pooler, or the role or database in PostgreSQL, set plan_cache_mode = force_custom_plan instead of force_generic_plan',
  );
}

/**
 * A statement without a name is planned for each call: for its values, unless the connection is set to
 * `force_generic_plan`. A setting would not last through a transaction pooler.
 */
function withoutName(query: unknown): unknown {
  if (typeof query !== 'object' || query === null || !('name' in query) || 'submit' in query) return query;
  const { name: _, ...others } = query;
  return others;
}
