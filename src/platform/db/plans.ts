import pg from 'pg';

/**
 * From this major version on, a statement that waits for a row of a partitioned table, and then checks the row again, may
 * leave out all other rows, or end PostgreSQL with a segmentation fault. Seen in 18.4. It happens if a plan that is kept for
 * later calls skips partitions both when a statement starts and while it runs. EvalPlanQualStart() lends the state of the
 * statement's skipping to the plan of the check, which renumbers the partitions in it a second time. A plan that is made for
 * one call skips partitions while it is made, so it has no such state.
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

/** What pg's types leave out: messages of the protocol. */
interface ProtocolEvents {
  on(event: 'parameterStatus', listener: (parameter: ServerParameter) => void): void;
}

/**
 * A connection on which no plan is kept if the server {@link losesRowsOfKeptPlans}: each call is planned, for its values.
 * That is right, but slower.
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

  /** Ends the keeping of plans on this connection, if a pool asked for it and the server cannot be trusted with it. */
  stopKeptPlans(): void {
    // A lost connection fails the next statement, too.
    if (this.#plansEachCall) this.query('set plan_cache_mode = force_custom_plan').catch(() => undefined);
  }
}

/** A statement without a name is prepared anew for each call. Through a transaction pooler, no setting would hold. */
function withoutName(query: unknown): unknown {
  if (typeof query !== 'object' || query === null || !('name' in query) || 'submit' in query) return query;
  const { name: _, ...others } = query;
  return others;
}
