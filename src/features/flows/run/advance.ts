/** Advances one run, as its workflow asks for it. */
import type { FlowRunStep } from '../../../../workflows/flows/contract.ts';
import { type AdvanceDeps, advanceOne } from './batch.ts';
import { endBroken, isFinal, reasonToWait } from './failures.ts';
import { endedState } from './sentence.ts';

export type { AdvanceDeps } from './batch.ts';

/**
 * A run that cannot continue now tries again after as long as it is late already, but at least and at most after these
 * times.
 */
const MIN_RETRY_MS = 15_000;
const MAX_RETRY_MS = 600_000;

/** Postpones a run whose transaction was rolled back. @param sentence the reason, for an operator */
function putOff(lateSince: Date, asOf: Date, sentence: string): FlowRunStep {
  const lateMs = asOf.getTime() - lateSince.getTime();
  const until = new Date(asOf.getTime() + Math.min(MAX_RETRY_MS, Math.max(MIN_RETRY_MS, lateMs)));
  return { next: 'later', until: until.toISOString(), sentence };
}

/**
 * Takes the due steps of a run in one transaction, up to the next wait, webhook call or end. A concurrent call waits
 * for the row, and then finds nothing to do. A run of a cohort is left to its cohort.
 * @param asOf the workflow's time
 * @returns `later`, without any change, if a statement took too long or a newer version of the service has stored the
 *   run
 */
export async function advanceRun(deps: AdvanceDeps, runId: number, asOf: Date): Promise<FlowRunStep> {
  let since = asOf;
  const lateSince = (time: Date) => void (since = time);
  try {
    return await advanceOne(deps, runId, { asOf, kind: 'single' }, lateSince);
  } catch (error) {
    if (isFinal(error)) {
      const end = await endBroken(deps, runId, asOf, error);
      return { next: 'done', state: endedState(end, 0) };
    }
    const reason = reasonToWait(error);
    if (reason === null) throw error;
    deps.log.warn({ err: error, flow_run_id: runId }, 'flow run postponed');
    return putOff(since, asOf, reason);
  }
}
