import { Context } from '@temporalio/activity';
import type { Logger } from 'pino';
import type { Config } from '../src/config.ts';
import { systemSender } from '../src/delivery/sender-identity.ts';
import { WEBHOOK_USER_AGENT } from '../src/features/webhooks/attempts/attempt.ts';
import { createWebhookRecovery, type RecoveryProgress } from '../src/features/webhooks/recovery/recovery.ts';
import type { Database } from '../src/platform/db/database.ts';
import type { Waker } from '../src/platform/db/wake.ts';
import type { Resolver } from '../src/platform/dns/resolver.ts';
import { createEgress } from '../src/platform/egress/client.ts';
import type { Keyring } from '../src/platform/secrets/keyring.ts';

const HEARTBEAT_MS = 1_000;

export interface WebhookActivityDependencies {
  config: Pick<Config, 'EGRESS_ALLOW' | 'WEBHOOK_RETRY_SCHEDULE' | 'MAIL_DOMAIN' | 'SYSTEM_FROM'>;
  database: Database;
  waker: Pick<Waker, 'wake'>;
  keyring: Keyring;
  resolver: Resolver;
  log: Logger;
  /** Aborted when the process is about to stop: what may go on for minutes ends, and another worker goes on. */
  stopping?: AbortSignal;
  /** Certificates (PEM) to trust instead of the system's; for tests. */
  ca?: string[];
}

/** {@link WebhookActivities.planWebhookRecovery}'s answer; times are ISO 8601. */
export interface WebhookRecoveryStep {
  phase: 'done' | 'due' | 'sleep';
  until: string | null;
  failingSince: string | null;
  warnedAt: string | null;
  disableAt: string | null;
  retrying: number;
  nextAttemptAt: string | null;
}

export type WebhookActivities = ReturnType<typeof createWebhookActivities>;

/** @param work its argument sets what the engine shows of it meanwhile, with each heartbeat */
async function whileHeartbeating<T>(work: (show: (details: unknown) => void) => Promise<T>): Promise<T> {
  const context = Context.current();
  let shown: unknown;
  const timer = setInterval(() => context.heartbeat(shown), HEARTBEAT_MS);
  try {
    return await work((details) => void (shown = details));
  } finally {
    clearInterval(timer);
  }
}

/**
 * The workflow's time when it asked, and what passed since, while the activity waited for a worker or was tried before.
 * Where the engine's clock runs ahead of ours, as it does in tests that skip time, that cannot be known, and is nothing.
 */
function presentTime(asOf: string): Date {
  const passedMs = Math.max(0, Date.now() - Context.current().info.scheduledTimestampMs);
  return new Date(Date.parse(asOf) + passedMs);
}

/** What the workflow `webhook/<id>` does. No error of an endpoint is an activity's failure. */
export function createWebhookActivities(deps: WebhookActivityDependencies) {
  const { config, database, keyring, resolver, waker, log, stopping, ca } = deps;
  const options = { resolver, allow: config.EGRESS_ALLOW, userAgent: WEBHOOK_USER_AGENT };
  const recovery = createWebhookRecovery({
    pool: database.pool,
    keyring,
    egress: createEgress(ca ? { ...options, ca } : options),
    waker,
    schedule: config.WEBHOOK_RETRY_SCHEDULE,
    systemFrom: systemSender(config),
    log,
  });
  return {
    /** @param asOf the workflow's time when it asks, ISO 8601 */
    async planWebhookRecovery(webhookId: number, asOf: string): Promise<WebhookRecoveryStep> {
      const plan = await whileHeartbeating(() => recovery.plan(webhookId, presentTime(asOf)));
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

    /**
     * Its heartbeats tell what it has done so far, which costs no event of history.
     * @param asOf the workflow's time when it asks, ISO 8601
     */
    deliverDueRetries(webhookId: number, asOf: string): Promise<RecoveryProgress> {
      const { cancellationSignal } = Context.current();
      const end = stopping ? AbortSignal.any([cancellationSignal, stopping]) : cancellationSignal;
      return whileHeartbeating((show) =>
        recovery.deliverDue(webhookId, { asOf: presentTime(asOf), signal: end, onProgress: show }),
      );
    },

    /** @param asOf the workflow's time when it asks, ISO 8601 */
    hastenWebhookRetries: (webhookId: number, asOf: string): Promise<void> =>
      whileHeartbeating(() => recovery.hasten(webhookId, presentTime(asOf))),
  };
}
