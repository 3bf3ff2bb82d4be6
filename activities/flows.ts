import { activityInfo, ApplicationFailure } from '@temporalio/activity';
import type { Logger } from 'pino';
import type { Config } from '../src/config.ts';
import { limitSettings } from '../src/delivery/ledger/limits/authority.ts';
import type { TrackedEventConsumer } from '../src/features/contact-events/service.ts';
import { CallWaitsError } from '../src/features/flows/run/call-turns.ts';
import { WebhookStepRetryError } from '../src/features/flows/run/calls.ts';
import { createFlowRuns } from '../src/features/flows/run/runs.ts';
import { createFlowSender } from '../src/features/flows/run/send.ts';
import { createFlowVersionReader } from '../src/features/flows/versions.ts';
import type { Database } from '../src/platform/db/database.ts';
import type { Waker } from '../src/platform/db/wake.ts';
import type { Resolver } from '../src/platform/dns/resolver.ts';
import { createEgress } from '../src/platform/egress/client.ts';
import { createBegunReporter } from '../src/platform/outbox/begun-reporter.ts';
import type { Keyring } from '../src/platform/secrets/keyring.ts';
import type { FlowCohortActivities, FlowRunActivities } from '../workflows/flows/contract.ts';
import { attended } from './attended.ts';
import { createFlowCohortActivities } from './flow-cohorts.ts';
import { presentTime } from './present-time.ts';

const USER_AGENT = 'Carillon-Flows/1';
/** The id of a workflow's first local activity. The library numbers them. */
const FIRST_ACTIVITY = '1';
/** Time between two heartbeats while requests of a cohort are made, in ms. */
const HEARTBEAT_MS = 5_000;

export interface FlowActivityDependencies {
  config: Config;
  database: Database;
  waker: Pick<Waker, 'wake'>;
  keyring: Keyring;
  resolver: Resolver;
  /** The consumers of events that runs track. */
  trackedEventConsumers: readonly TrackedEventConsumer[];
  log: Logger;
  /** Certificates (PEM) to trust instead of the system's; for tests. */
  ca?: string[];
  /** Aborted when the process is about to stop. */
  stopping?: AbortSignal;
}

/** The activities of the workflows `flow-run/<flow>/<contact>/<cause>` and `flow-cohort/<flow>/<n>`. */
export function createFlowActivities(
  deps: FlowActivityDependencies,
): FlowRunActivities & FlowCohortActivities {
  const { config, database, keyring, resolver, trackedEventConsumers, waker, log, ca, stopping } = deps;
  const egress = { resolver, allow: config.EGRESS_ALLOW, userAgent: USER_AGENT };
  const advancing = {
    pool: database.pool,
    waker,
    log,
    versions: createFlowVersionReader(database.pool),
    send: createFlowSender({
      mailDomain: config.MAIL_DOMAIN,
      tracking: {
        publicUrl: config.PUBLIC_URL ?? null,
        keyId: keyring.subkey('tracking').id,
      },
      limits: limitSettings(config),
      plusAddresses: config.SUPPRESS_PLUS_ADDRESSES,
      keyring,
    }),
    consumers: trackedEventConsumers,
  };
  const runs = createFlowRuns({
    ...advancing,
    keyring,
    egress: createEgress(ca ? { ...egress, ca } : egress),
  });
  const begun = createBegunReporter({ pool: database.pool, waker, log });
  return {
    advanceRun(runId, asOf, accountId) {
      const { activityId, workflowExecution } = activityInfo();
      if (activityId === FIRST_ACTIVITY && workflowExecution) begun.report(workflowExecution.workflowId);
      return runs.advance(runId, presentTime(asOf), accountId);
    },
    async callWebhook(runId, stepId, asOf) {
      try {
        await runs.callWebhook(runId, stepId, presentTime(asOf));
      } catch (error) {
        if (!(error instanceof WebhookStepRetryError || error instanceof CallWaitsError)) throw error;
        const { message, delayMs } = error;
        const type = error.constructor.name;
        // Benign: the endpoint of a customer fails or is busy, which is no fault to warn the operator of.
        throw ApplicationFailure.create({ message, type, nextRetryDelay: delayMs, category: 'BENIGN' });
      }
    },
    async callCohort(cohortId, asOf) {
      await attended({ heartbeatMs: HEARTBEAT_MS, stopping }, ({ stopping: signal, progress: onProgress }) =>
        runs.callCohort(cohortId, presentTime(asOf), { stopping: signal, onProgress }),
      );
    },
    cancelRun: (runId, asOf) => runs.cancel(runId, presentTime(asOf)),
    ...createFlowCohortActivities(advancing, stopping),
  };
}
