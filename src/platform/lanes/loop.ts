import type { LaneKind, LaneMode, LaneReport } from '../../../workflows/lanes/contract.ts';

/** A process's loop, as its lane's activity sees it. The loop belongs to the process and outlives the activity. */
export interface LaneLoop {
  readonly kind: LaneKind;
  setMode(mode: LaneMode): void;
  report(): LaneReport;
}
