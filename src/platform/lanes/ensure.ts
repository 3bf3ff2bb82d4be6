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

/** A little less than senders ask, so that each look is due for the next who does. */
const CHECK_SECONDS = 25;
/** How long a lane waits for a sender that is being started again. */
const SURPLUS_SECONDS = 120;

const kinds: LaneKind[] = ['send', 'webhook'];

const details = `Shows and steers the loop of one sender process; what it sends is in PostgreSQL.
The loop goes on without this workflow, and the engine starts it again when it is gone.

Signals, without arguments: **pause** (take nothing new), **resume**, **drain** (finish what is claimed, take
nothing new), **restart** (attach again, in whichever process is free). Queries: **report**, **state**.
The pending activity's heartbeat details are what the loop said two seconds ago.`;

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
  const told = await callEngine(client, () =>
    signalWorkflow(client, { workflowId, signal: laneSignals.retire }),
  );
  if (!told) await forgetLane(database.pool, lane);
}

/**
 * As many lanes of each kind as there are senders, each with its workflow; lanes that are too many for two minutes
 * end. Cheap to repeat, and shared between all who do.
 * @param options.force look at every lane, as after the engine forgot everything
 * @throws where the engine or the database is away
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
