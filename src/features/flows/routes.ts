import type pg from 'pg';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { ContentEngine } from '../../delivery/content/templates/content.ts';
import type { Database } from '../../platform/db/database.ts';
import type { HeavyReads } from '../../platform/processes/heavy-reads.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { LargeLists } from '../../platform/http/large-lists.ts';
import type { RouteDefinition } from '../../platform/http/route.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { createBrandOf, type TemplateOwners } from '../templates/service.ts';
import type { CheckDeps } from './checks.ts';
import { ENTRIES_CHANNEL } from './entry/entries.ts';
import { createEntryRoutes } from './entry/routes.ts';
import { createDefinitionRoutes, type FlowRouteParts } from './flow-routes.ts';
import { createFlowTemplates } from './own-templates.ts';
import { createReportRoutes } from './report-routes.ts';
import { createResendRoutes } from './resend-routes.ts';
import { createRunRoutes } from './runs-routes.ts';
import { createSimulateRoutes } from './simulate-routes.ts';
import { createUnsavedRoutes } from './unsaved-routes.ts';
import { createVersionRoutes } from './version-routes.ts';

/** The dependencies of the flow routes. Each file of routes declares the part that it needs. */
export interface FlowDeps {
  config: Config;
  database: Database;
  heavyReads: HeavyReads;
  recordingPool: pg.Pool;
  log: Logger;
  keyring: Keyring;
  waker: Waker;
  contents: ContentEngine;
}

function partsOf({
  config,
  database,
  keyring,
  waker,
  contents,
}: FlowDeps): Omit<FlowRouteParts, 'largeLists'> {
  const { pool } = database;
  const publicUrl = config.PUBLIC_URL ?? null;
  const deps: CheckDeps = {
    pool,
    keyring,
    templates: { pool, contents, brandOf: createBrandOf(pool, keyring, publicUrl) },
    mailDomain: config.MAIL_DOMAIN,
    publicUrl,
    approvalTiers: config.APPROVAL_TIERS,
  };
  return {
    pool,
    deps,
    wake: () => {
      waker.wake('outbox');
      waker.wake(ENTRIES_CHANNEL);
    },
  };
}

/** Pins flows again when templates of theirs change. */
export function createTemplateOwners(deps: FlowDeps): TemplateOwners {
  return createFlowTemplates(partsOf(deps).deps);
}

/** `/v1/my/flows` and `/v1/my/flow_runs`: each file of routes adds its line. */
export function createFlowRoutes(deps: FlowDeps & { largeLists: LargeLists }): RouteDefinition[] {
  const parts = partsOf(deps);
  return [
    ...createUnsavedRoutes(parts.deps, deps.heavyReads),
    ...createDefinitionRoutes({ ...parts, largeLists: deps.largeLists }),
    ...createEntryRoutes(deps),
    ...createReportRoutes(deps),
    ...createResendRoutes(deps),
    ...createRunRoutes(deps),
    ...createVersionRoutes(deps),
    ...createSimulateRoutes(deps),
  ];
}
