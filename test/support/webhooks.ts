import pino from 'pino';
import { emailEventData, emailEvents } from '../../src/delivery/terms/events.ts';
import { upkeep } from '../../src/features/upkeep.ts';
import { WEBHOOK_USER_AGENT } from '../../src/features/webhooks/attempts/attempt.ts';
import type { EventType } from '../../src/features/webhooks/catalogue.ts';
import { createWebhookLoop } from '../../src/features/webhooks/loop/loop.ts';
import { createWebhookManager, type WebhookManager } from '../../src/features/webhooks/service.ts';
import type { Tenant } from '../../src/platform/auth/tenant.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { createWaker, type Waker } from '../../src/platform/db/wake.ts';
import { createEvent, type PublishedEvent } from '../../src/platform/events/define.ts';
import { createResolver } from '../../src/platform/dns/resolver.ts';
import { createEgress, type Egress } from '../../src/platform/egress/client.ts';
import { registerProcess, type LiveProcess } from '../../src/platform/processes/process.ts';
import { startReaper } from '../../src/platform/processes/reaper.ts';
import type { QueueLoop } from '../../src/platform/queue/loop.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { TEST_SECRET, type TestTenant } from './api.ts';
import { testEvents } from './events.ts';
import { testPulse } from './pulse.ts';
import { testCa } from './https-receiver.ts';

export const testKeyring = createKeyring(TEST_SECRET);

/** Delays in seconds, long enough that no retry happens by chance during a test. */
export const testSchedule = [60, 300, 1_800];

/** A webhook manager that accepts every URL without a look-up, and by default wakes nothing. */
export function createTestManager(
  { pool }: Database,
  waker: Pick<Waker, 'wake'> = { wake: () => undefined },
): WebhookManager {
  return createWebhookManager({
    pool,
    keyring: testKeyring,
    egress: { checkUrl: async () => ({ ok: true }) },
    waker,
    log: pino({ level: 'silent' }),
  });
}

/** The tenant that its API key authenticates. */
export function keyHolderOf({ accountId, brandId, apiKeyId }: TestTenant): Tenant {
  return { accountId, brandId, actor: { kind: 'api_key', id: apiKeyId, test: false }, role: 'admin' };
}

/** Creates a webhook. @returns its id and its whole secret */
export async function addWebhook(
  database: Database,
  tenant: TestTenant,
  url: string,
  events: EventType[] = ['email.sent'],
): Promise<{ id: number; secret: string }> {
  const manager = createTestManager(database);
  return inTransaction(database.pool, (trx) => manager.create(trx, keyHolderOf(tenant), { url, events }));
}

export function sentEvent(tenant: TestTenant, messageId: number): PublishedEvent {
  const message = { id: messageId, to: 'ann@example.test', subject: 'Hi', idempotencyKey: null, tags: null };
  const { accountId, brandId } = tenant;
  const data = { ...emailEventData(message), provider: 'smtp' };
  return createEvent(emailEvents.sent, { accountId, brandId, occurredAt: new Date(), data });
}

/** Publishes `email.sent` for each message. @returns the number of webhook deliveries queued */
export async function publishSent(
  database: Database,
  tenant: TestTenant,
  messageIds: number[],
): Promise<number> {
  const events = messageIds.map((id) => sentEvent(tenant, id));
  const queued = await inTransaction(database.pool, (trx) => testEvents.publish(trx, events));
  return queued.get('webhook') ?? 0;
}

export interface RunningLoop {
  loop: QueueLoop;
  process: LiveProcess;
  waker: Waker;
  stop(): Promise<void>;
}

export interface WebhookLoopOptions {
  allow?: string[];
  dns?: string[];
  schedule?: number[];
  /** Time-out of an attempt, for all attempts or by URL; 10 s by default. */
  timeoutMs?: number | ((url: string) => number);
  /** Interval of the loop's search for lost claims; 5 s by default. */
  sweepMs?: number;
  /** A registered sender process; by default, the loop gets a new one. */
  process?: LiveProcess;
}

function testEgress({ allow, dns, timeoutMs }: WebhookLoopOptions): Egress {
  const egress = createEgress({
    resolver: createResolver(dns ?? []),
    allow: allow ?? ['127.0.0.0/8'],
    userAgent: WEBHOOK_USER_AGENT,
    ca: [testCa],
  });
  if (timeoutMs === undefined) return egress;
  const timeOutOf = typeof timeoutMs === 'number' ? () => timeoutMs : timeoutMs;
  return {
    ...egress,
    request: (request) => egress.request({ ...request, timeoutMs: timeOutOf(request.url) }),
  };
}

/** The webhook loop of a sender process with its reaper, over its own connections. */
export async function startWebhookLoop(
  database: Database,
  options: WebhookLoopOptions = {},
): Promise<RunningLoop> {
  const process =
    options.process ?? (await registerProcess({ url: database.url }, 'sender', upkeep.processWork));
  const waker = createWaker({ url: database.url });
  const log = pino({ level: 'silent' });
  const pulse = testPulse(database.pool, {
    self: () => process.id(),
    ...(options.sweepMs === undefined ? {} : { intervalMs: options.sweepMs }),
  });
  const reaper = startReaper({
    pool: database.pool,
    process,
    work: upkeep.processWork,
    waker,
    pulse,
    log,
  });
  const loop = createWebhookLoop({
    config: {
      WEBHOOK_RETRY_SCHEDULE: options.schedule ?? testSchedule,
      MAIL_DOMAIN: 'carillon.test',
    },
    database,
    keyring: testKeyring,
    egress: testEgress(options),
    process,
    waker,
    pulse,
    events: testEvents,
    log,
    ...(options.sweepMs === undefined ? {} : { sweepMs: options.sweepMs }),
  });
  loop.start();
  return {
    loop,
    process,
    waker,
    async stop() {
      await loop.stop();
      await reaper.stop();
      await waker.close();
      await process.close();
    },
  };
}

export interface DeliveryRow {
  id: number;
  webhook_id: number;
  status: string;
  response_code: number | null;
  attempt_count: number;
  next_attempt_at: Date | null;
  last_error: string | null;
}

export async function deliveriesOf(database: Database, webhookId: number): Promise<DeliveryRow[]> {
  const { rows } = await database.pool.query<DeliveryRow>(
    'select * from webhook_deliveries where webhook_id = $1 order by id',
    [webhookId],
  );
  return rows;
}

export async function rowOf<Row extends Record<string, unknown>>(
  database: Database,
  webhookId: number,
): Promise<Row | undefined> {
  const { rows } = await database.pool.query<Row>('select * from webhooks where id = $1', [webhookId]);
  return rows[0];
}
