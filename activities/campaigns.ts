import type { Logger } from 'pino';
import type { Config } from '../src/config.ts';
import { limitSettings } from '../src/delivery/ledger/limits/authority.ts';
import { stopThresholds } from '../src/delivery/ledger/limits/stop-thresholds.ts';
import type { Evaluations } from '../src/features/campaigns/run/evaluations.ts';
import { createCampaignRun, type Stay } from '../src/features/campaigns/run/run.ts';
import type { Database } from '../src/platform/db/database.ts';
import type { Waker } from '../src/platform/db/wake.ts';
import type { EventPublisher } from '../src/platform/events/publish.ts';
import type { CampaignActivities } from '../workflows/campaigns/contract.ts';
import { attended } from './attended.ts';
import { presentTime } from './present-time.ts';

const HEARTBEAT_MS = 3_000;

export interface CampaignActivityDependencies {
  config: Config;
  database: Database;
  /** Evaluates audiences that depend on events, opens or clicks. */
  evaluations: Evaluations;
  waker: Pick<Waker, 'wake'>;
  events: EventPublisher;
  log: Logger;
  /** Aborted when the process is about to stop. */
  stopping: AbortSignal;
}

/** The activities of the workflow `campaign/<id>`. */
export function createCampaignActivities(deps: CampaignActivityDependencies): CampaignActivities {
  const { config, database, evaluations, waker, events, log, stopping } = deps;
  const run = createCampaignRun({
    pool: database.pool,
    evaluations,
    events,
    waker,
    log,
    limits: limitSettings(config),
    plusAddresses: config.SUPPRESS_PLUS_ADDRESSES,
    thresholds: stopThresholds(config),
  });

  /** Operators see the state of the campaign in the heartbeat details. */
  const staying = <T>(forMs: number, work: (stay: Stay) => Promise<T>): Promise<T> =>
    attended({ heartbeatMs: HEARTBEAT_MS, stopping }, ({ stopping: signal, progress }) =>
      work({ forMs, signal, progress }),
    );

  return {
    lookAtCampaign: (campaignId, asOf) => staying(0, () => run.look(campaignId, presentTime(asOf))),
    changeCampaign: (campaignId, change, asOf) =>
      staying(0, () => run.change(campaignId, change, presentTime(asOf))),
    snapshotCampaign: (campaignId, asOf, stayMs) =>
      staying(stayMs, (stay) => run.snapshot(campaignId, presentTime(asOf), stay)),
    watchCampaign: (campaignId, asOf, stayMs) =>
      staying(stayMs, (stay) => run.watch(campaignId, presentTime(asOf), stay)),
    finishCampaign: (campaignId, asOf) =>
      staying(0, ({ signal }) => run.finish(campaignId, presentTime(asOf), signal)),
  };
}
