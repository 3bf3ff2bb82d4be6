import type { DueBacklog } from './backlogs.ts';

/** Maximum number of remembered backlogs. Beyond it, the order of service starts again. */
const MAX_REMEMBERED = 10_000;

/** The order in which a claim round serves backlogs. */
export interface ServiceOrder {
  /** Sorts by class and, within a class, by how long ago the backlog was served, longest first. */
  forRound(due: readonly DueBacklog[]): DueBacklog[];
  /**
   * Sorts for a batch that tests a provider: first the backlogs whose messages have ended no connection, then those
   * whose messages did so longest ago. This way, messages that end connections do not decide every test.
   */
  forTest(due: readonly DueBacklog[]): DueBacklog[];
  served(name: string): void;
  /**
   * Records that a connection ended with a message of this backlog, so that the other backlogs come first.
   * @param name of the backlog
   */
  lostConnection(name: string): void;
}

export function createServiceOrder(): ServiceOrder {
  const lastServed = new Map<string, number>();
  const lastLost = new Map<string, number>();
  let count = 0;
  const servedAt = ({ name }: DueBacklog) => lastServed.get(name) ?? 0;
  const lostAt = ({ name }: DueBacklog) => lastLost.get(name) ?? 0;

  function note(moments: Map<string, number>, name: string): void {
    if (moments.size >= MAX_REMEMBERED && !moments.has(name)) moments.clear();
    moments.set(name, ++count);
  }

  return {
    forRound: (due) => due.toSorted((a, b) => a.class - b.class || servedAt(a) - servedAt(b)),
    forTest: (due) =>
      due.toSorted((a, b) => lostAt(a) - lostAt(b) || a.class - b.class || servedAt(a) - servedAt(b)),
    served: (name) => note(lastServed, name),
    lostConnection(name) {
      note(lastServed, name);
      note(lastLost, name);
    },
  };
}
