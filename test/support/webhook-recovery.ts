import pino from 'pino';
import { WEBHOOK_USER_AGENT } from '../../src/features/webhooks/attempts/attempt.ts';
import { createWebhookRecovery } from '../../src/features/webhooks/recovery/recovery.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { createResolver } from '../../src/platform/dns/resolver.ts';
import { createEgress } from '../../src/platform/egress/client.ts';
import { testEvents } from './events.ts';
import { testCa } from './https-receiver.ts';
import { testKeyring, testSchedule } from './webhooks.ts';

export interface TestRecovery {
  /**
   * One cycle of the workflow `webhook/<id>`: plans, and attempts the due retries.
   * @returns the attempts made
   */
  goRound(webhookId: number, asOf?: Date): Promise<number>;
  close(): Promise<void>;
}

/**
 * The recovery of webhooks without its workflow.
 * @param elapsed a clock in milliseconds with which it measures how long it has worked
 */
export function createTestRecovery(database: Database, elapsed?: () => number): TestRecovery {
  const egress = createEgress({
    resolver: createResolver([]),
    allow: ['127.0.0.0/8'],
    userAgent: WEBHOOK_USER_AGENT,
    ca: [testCa],
  });
  const recovery = createWebhookRecovery({
    pool: database.pool,
    keyring: testKeyring,
    egress,
    waker: { wake: () => undefined },
    events: testEvents,
    schedule: testSchedule,
    systemFrom: 'carillon@mail.test',
    log: pino({ level: 'silent' }),
    ...(elapsed ? { elapsed } : {}),
  });
  return {
    async goRound(webhookId, asOf = new Date()) {
      const { phase } = await recovery.plan(webhookId, asOf);
      if (phase !== 'due') return 0;
      return (await recovery.deliverDue(webhookId, { asOf, signal: new AbortController().signal })).attempted;
    },
    close: () => egress.close(),
  };
}
