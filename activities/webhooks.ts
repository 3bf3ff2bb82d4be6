import type { Logger } from 'pino';
import type { Config } from '../src/config.ts';
import { systemSender } from '../src/delivery/terms/sender-identity.ts';
import { WEBHOOK_USER_AGENT } from '../src/features/webhooks/attempts/attempt.ts';
import { createWebhookRecovery } from '../src/features/webhooks/recovery/recovery.ts';
import type { Database } from '../src/platform/db/database.ts';
import type { Waker } from '../src/platform/db/wake.ts';
import type { Resolver } from '../src/platform/dns/resolver.ts';
import { createEgress } from '../src/platform/egress/client.ts';
import type { EventPublisher } from '../src/platform/events/publish.ts';
import type { Keyring } from '../src/platform/secrets/keyring.ts';
import type { WebhookActivities } from '../workflows/webhooks/contract.ts';
import { attended } from './attended.ts';
import { presentTime } from './present-time.ts';

const HEARTBEAT_MS = 1_000;

export interface WebhookActivityDependencies {
  config: Pick<Config, 'EGRESS_ALLOW' | 'WEBHOOK_RETRY_SCHEDULE' | 'MAIL_DOMAIN' | 'SYSTEM_FROM'>;
  database: Database;
  waker: Pick<Waker, 'wake'>;
  keyring: Keyring;
  resolver: Resolver;
  events: EventPublisher;
  log: Logger;
  /**
   * Aborted when the process is about to stop: activities that may run for minutes end, and another worker continues.
   */
  stopping?: AbortSignal;
  /** Certificates (PEM) to trust instead of the system's; for tests. */
  ca?: string[];
}

/** The activities of the workflow `webhook/<id>`. An activity does not fail because of an endpoint's error. */
export function createWebhookActivities(deps: WebhookActivityDependencies): WebhookActivities {
  const { config, database, keyring, resolver, events, waker, log, stopping, ca } = deps;
  const outbound = { resolver, allow: config.EGRESS_ALLOW, userAgent: WEBHOOK_USER_AGENT };
  const recovery = createWebhookRecovery({
    pool: database.pool,
    keyring,
    egress: createEgress(ca ? { ...outbound, ca } : outbound),
    waker,
    events,
    schedule: config.WEBHOOK_RETRY_SCHEDULE,
    systemFrom: systemSender(config),
    log,
  });
  const options = { heartbeatMs: HEARTBEAT_MS, stopping };
  return {
    async planWebhookRecovery(webhookId, asOf) {
      const plan = await attended(options, () => recovery.plan(webhookId, presentTime(asOf)));
      return {
        phase: plan.phase,
        until: plan.until?.toISOString() ?? null,
        failingSince: plan.failingSince?.toISOString() ?? null,
        warnedAt: plan.warnedAt?.toISOString() ?? null,
        disableAt: plan.disableAt?.toISOString() ?? null,
        retrying: plan.retrying,
        nextAttemptAt: plan.nextAttemptAt?.toISOString() ?? null,
      };
    },

    deliverDueRetries: (webhookId, asOf) =>
      attended(options, ({ stopping: signal, progress: onProgress }) =>
        recovery.deliverDue(webhookId, { asOf: presentTime(asOf), signal, onProgress }),
      ),

    hastenWebhookRetries: (webhookId, asOf) =>
      attended(options, () => recovery.hasten(webhookId, presentTime(asOf))),
  };
}
