import {
  laneSignals,
  laneWorkflowId,
  laneWorkflowTypes,
  type LaneInput,
  type LaneKind,
} from '../../../workflows/lanes/contract.ts';
import type { Database } from '../db/database.ts';
import { callEngine, type EngineClient } from '../temporal/connection.ts';
import type { WorkflowStart } from '../temporal/contract.ts';
import { signalWorkflow, startWorkflow } from '../temporal/start.ts';
import { claimLaneChecks, forgetLane, planLanes, releaseLaneChecks, type Lane } from './rows.ts';

/** A little less than the senders' interval, so that each check finds every lane due again. */
const CHECK_SECONDS = 25;
/** How long a surplus lane waits for a sender that is restarting. */
const SURPLUS_SECONDS = 120;

const kinds: LaneKind[] = ['send', 'webhook'];

const details = `Shows and steers the loop of one sender process. The messages are in PostgreSQL: the loop works
without this workflow, too, and Carillon starts the workflow again if it is gone.

Signals, without arguments: **pause** (take nothing new, give claims back), **resume**, **drain** (take nothing new,
finish claims), **restart** (attach again, to any free process). Queries: **report**, **state**.
The heartbeat details of the pending activity are the loop's latest report, at most a few seconds old.`;

function laneStart(lane: Lane): WorkflowStart {
  const input: LaneInput = { schema: 1, n: lane.n };
  return {
    workflowType: laneWorkflowTypes[lane.kind],
    workflowId: laneWorkflowId(lane.kind, lane.n),
    input: [input],
    summary: lane.kind === 'send' ? `Sends messages, lane ${lane.n}` : `Delivers webhooks, lane ${lane.n}`,
    details,
  };
}

async function retire(client: EngineClient, database: Database, lane: Lane): Promise<void> {
  const workflowId = laneWorkflowId(lane.kind, lane.n);
  const running = await callEngine(client, () =>
    signalWorkflow(client, { workflowId, signal: laneSignals.retire }),
  );
  if (!running) await forgetLane(database.pool, lane);
}

/**
 * Makes sure that there are as many lanes of each kind as senders, each with its workflow. A lane that has been surplus
 * for two minutes ends. Cheap to call: all callers together check each lane once per interval.
 * @param options.force checks every lane, for example after the engine lost its data
 * @throws if the engine or the database is unavailable
 */
export async function ensureLanes(
  client: EngineClient,
  database: Database,
  options: { force?: boolean } = {},
): Promise<void> {
  for (const kind of kinds) await planLanes(database.pool, kind);
  const lanes = await claimLaneChecks(database.pool, options.force ? 0 : CHECK_SECONDS, SURPLUS_SECONDS);
  try {
    for (const { surplus, ...lane } of lanes) {
      if (surplus) await retire(client, database, lane);
      else await callEngine(client, () => startWorkflow(client, laneStart(lane)));
    }
  } catch (error) {
    await releaseLaneChecks(database.pool, lanes);
    throw error;
  }
}
