import type { Logger } from 'pino';
import type { Config } from '../src/config.ts';
import type { Database } from '../src/platform/db/database.ts';
import type { Waker } from '../src/platform/db/wake.ts';
import type { EventPublisher } from '../src/platform/events/publish.ts';
import type { Resolver } from '../src/platform/dns/resolver.ts';
import type { Upkeep } from '../src/platform/housekeeping/upkeep.ts';
import type { Keyring } from '../src/platform/secrets/keyring.ts';
import type { CampaignActivities } from '../workflows/campaigns/contract.ts';
import type { DomainActivities } from '../workflows/domains/contract.ts';
import type { ExportActivities } from '../workflows/exports/contract.ts';
import type { HousekeepingActivities } from '../workflows/housekeeping/contract.ts';
import type { ImportActivities } from '../workflows/imports/contract.ts';
import type { LaneModeActivities } from '../workflows/lanes/contract.ts';
import type { WebhookActivities } from '../workflows/webhooks/contract.ts';
import { createCampaignActivities } from './campaigns.ts';
import { createDomainActivities } from './domains.ts';
import { createExportActivities } from './exports.ts';
import { createHousekeepingActivities } from './housekeeping.ts';
import { createImportActivities } from './imports.ts';
import { createLaneModeActivities } from './lanes.ts';
import { createWebhookActivities } from './webhooks.ts';

/** What the `worker` role gives to every activity. */
export interface ActivityDependencies {
  config: Config;
  database: Database;
  waker: Waker;
  keyring: Keyring;
  resolver: Resolver;
  events: EventPublisher;
  log: Logger;
  /** The upkeep of all features. */
  upkeep: Required<Upkeep>;
  /** Aborted when the process is about to stop. */
  stopping: AbortSignal;
}

/**
 * Every activity of the task queues `orchestration` and `bulk`; the lanes' activity in a sender is separate
 * (`lanes.ts`). A feature adds one line. The signatures are in its contract, from which its workflow takes them.
 */
export function createActivities(
  deps: ActivityDependencies,
): CampaignActivities &
  DomainActivities &
  ExportActivities &
  HousekeepingActivities &
  ImportActivities &
  LaneModeActivities &
  WebhookActivities {
  return {
    ...createHousekeepingActivities({ ...deps, ...deps.upkeep }),
    ...createLaneModeActivities(deps),
    ...createCampaignActivities(deps),
    ...createDomainActivities(deps),
    ...createExportActivities(deps),
    ...createImportActivities(deps),
    ...createWebhookActivities(deps),
  };
}
