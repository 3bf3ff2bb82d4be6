import type { DueBacklog } from './backlogs.ts';

/** The order of service is forgotten if it covers more backlogs than this. */
const MAX_REMEMBERED = 10_000;

/** The order in which a claim round serves backlogs. */
export interface ServiceOrder {
  /** By class and, within a class, the backlog that was served longest ago first. */
  forRound(due: readonly DueBacklog[]): DueBacklog[];
  /**
   * For a batch that tests a provider: first the backlogs whose messages have ended no connection, then the one whose
   * message did so longest ago. So messages that end connections do not decide one test after the other.
   */
  forTest(due: readonly DueBacklog[]): DueBacklog[];
  served(name: string): void;
  /** A connection ended with a message of this backlog: the others come first. @param name of the backlog */
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
