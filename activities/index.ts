import type { Logger } from 'pino';
import type { Config } from '../src/config.ts';
import type { Database } from '../src/platform/db/database.ts';
import type { HeavyReads } from '../src/platform/processes/heavy-reads.ts';
import type { Waker } from '../src/platform/db/wake.ts';
import type { Evaluations } from '../src/features/campaigns/run/evaluations.ts';
import type { TrackedEventConsumer } from '../src/features/contact-events/service.ts';
import type { AddressChecker } from '../src/features/validation/checks/address-checker.ts';
import type { EventPublisher } from '../src/platform/events/publish.ts';
import type { Resolver } from '../src/platform/dns/resolver.ts';
import type { Upkeep } from '../src/platform/housekeeping/upkeep.ts';
import type { Keyring } from '../src/platform/secrets/keyring.ts';
import type { ScrapeActivities } from '../workflows/brands/contract.ts';
import type { BulkActionActivities } from '../workflows/bulk-actions/contract.ts';
import type { CampaignActivities } from '../workflows/campaigns/contract.ts';
import type { DomainActivities } from '../workflows/domains/contract.ts';
import type { ExportActivities } from '../workflows/exports/contract.ts';
import type {
  FlowAudienceActivities,
  FlowCohortActivities,
  FlowRunActivities,
} from '../workflows/flows/contract.ts';
import type { HousekeepingActivities } from '../workflows/housekeeping/contract.ts';
import type { ImportActivities } from '../workflows/imports/contract.ts';
import type { ScanActivities } from '../workflows/inbox/contract.ts';
import type { LaneModeActivities } from '../workflows/lanes/contract.ts';
import type { TopUpActivities } from '../workflows/topups/contract.ts';
import type { ValidationActivities } from '../workflows/validation/contract.ts';
import type { WebhookActivities } from '../workflows/webhooks/contract.ts';
import { createBrandActivities } from './brands.ts';
import { createBulkActionActivities } from './bulk-actions.ts';
import { createCampaignActivities } from './campaigns.ts';
import { createDomainActivities } from './domains.ts';
import { createExportActivities } from './exports.ts';
import { createFlowAudienceActivities } from './flow-audience.ts';
import { createFlowActivities } from './flows.ts';
import { createHousekeepingActivities } from './housekeeping.ts';
import { createImportActivities } from './imports.ts';
import { createInboxActivities } from './inbox.ts';
import { createLaneModeActivities } from './lanes.ts';
import { createTopUpActivities } from './topups.ts';
import { createValidationActivities } from './validation.ts';
import { createWebhookActivities } from './webhooks.ts';

/** What the `worker` role passes to the activities. */
export interface ActivityDependencies {
  config: Config;
  database: Database;
  /** Runs statements that read a large part of a brand's contacts. */
  heavyReads: HeavyReads;
  /** Evaluates audiences of campaigns that depend on events, opens or clicks. */
  evaluations: Evaluations;
  waker: Waker;
  keyring: Keyring;
  resolver: Resolver;
  events: EventPublisher;
  /** The consumers of tracked events, including those that flows track. */
  trackedEventConsumers: readonly TrackedEventConsumer[];
  /** Checks email addresses for validations. */
  checker: AddressChecker;
  log: Logger;
  /** The upkeep of all features. */
  upkeep: Required<Upkeep>;
  /** Aborted when the process is about to stop. */
  stopping: AbortSignal;
}

/**
 * Creates all activities of the task queues `orchestration`, `cohorts`, `bulk` and `calls`; the activity of senders is separate
 * (`lanes.ts`). Each feature adds one line. Its signatures are in its contract, which its workflow imports.
 */
export function createActivities(
  deps: ActivityDependencies,
): BulkActionActivities &
  CampaignActivities &
  DomainActivities &
  ExportActivities &
  FlowAudienceActivities &
  FlowCohortActivities &
  FlowRunActivities &
  HousekeepingActivities &
  ImportActivities &
  LaneModeActivities &
  ScanActivities &
  ScrapeActivities &
  TopUpActivities &
  ValidationActivities &
  WebhookActivities {
  return {
    ...createHousekeepingActivities({ ...deps, ...deps.upkeep }),
    ...createLaneModeActivities(deps),
    ...createBrandActivities(deps),
    ...createBulkActionActivities(deps),
    ...createCampaignActivities(deps),
    ...createDomainActivities(deps),
    ...createExportActivities(deps),
    ...createFlowAudienceActivities(deps),
    ...createFlowActivities(deps),
    ...createImportActivities(deps),
    ...createInboxActivities(deps),
    ...createTopUpActivities(deps),
    ...createValidationActivities(deps),
    ...createWebhookActivities(deps),
  };
}
