import { createLaneActivities } from '../../activities/lanes.ts';
import { attachSender, type AttachDependencies } from '../../src/platform/lanes/attach.ts';
import type { LaneLoop } from '../../src/platform/queue/loop.ts';
import { testPulse } from '../support/pulse.ts';
import type { LaneKind, LaneMode, LaneReport } from '../../workflows/lanes/contract.ts';

/** A loop that sends nothing and remembers the modes it was given. */
export interface TestLoop extends LaneLoop {
  readonly modes: LaneMode[];
  set(changes: Partial<LaneReport>): void;
}

export function createTestLoop(kind: LaneKind, processId: number): TestLoop {
  const modes: LaneMode[] = [];
  let report: LaneReport = {
    host: 'host-1',
    pid: process.pid,
    processId,
    mode: 'running',
    ratePerSecond: 12.4,
    handledTotal: 99,
    inFlight: 3,
    backlog: { transactional: 7 },
    providers: { smtp: { state: 'closed', reason: null, retryAt: null } },
  };
  return {
    kind,
    modes,
    setMode(mode) {
      modes.push(mode);
      report = { ...report, mode };
    },
    report: () => report,
    set(changes) {
      report = { ...report, ...changes };
    },
  };
}

/** Attaches the loops to their lanes, as the `sender` role does, and reports changes to the workflow at once. */
export function attachLoops(
  deps: Omit<AttachDependencies, 'createActivities'>,
): Promise<{ stop(): Promise<void> }> {
  const { database, loops, log } = deps;
  return attachSender({
    ...deps,
    createActivities: (own) =>
      createLaneActivities({
        ...{ database, loops, log, own },
        pulse: testPulse(database.pool),
        reportMinMs: 0,
      }),
  });
}
