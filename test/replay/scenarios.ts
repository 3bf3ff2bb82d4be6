import type { Client, WorkflowHandle } from '@temporalio/client';
import { addProvider, requireProviderKind } from '../../src/delivery/wire/providers/named.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { startScrape } from '../../src/features/brands/scrape/start.ts';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { campaignStart } from '../../src/features/campaigns/workflow.ts';
import { exportStart } from '../../src/features/exports/workflow.ts';
import { flowAudienceStart } from '../../src/features/flows/workflow.ts';
import { importOptions } from '../../src/features/imports/schema.ts';
import { importStart } from '../../src/features/imports/workflow.ts';
import { watchStart } from '../../src/features/domains/workflow.ts';
import { topUpStart } from '../../src/features/wallet/workflow.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { scrapeWorkflowId } from '../../workflows/brands/contract.ts';
import type { CampaignState } from '../../workflows/campaigns/contract.ts';
import type { DomainWatchState } from '../../workflows/domains/contract.ts';
import { flowAudienceSignals } from '../../workflows/flows/contract.ts';
import { laneWorkflowId } from '../../workflows/lanes/contract.ts';
import { topUpSignals } from '../../workflows/topups/contract.ts';
import { webhookWorkflowId, type WebhookRecoveryState } from '../../workflows/webhooks/contract.ts';
import { createTestTenant, TEST_SECRET } from '../support/api.ts';
import { insertSentCampaign, sendDueBlocks } from '../support/campaign-runs.ts';
import { insertContacts } from '../support/contacts.ts';
import type { TestDnsServer } from '../support/dns/server.ts';
import { insertPendingDomain, rightRecords } from '../support/domains.ts';
import type { FakeClamd } from '../support/fake-clamd.ts';
import type { TestStore } from '../support/mail-scans.ts';
import type { FakeStripe, PayAnswer } from '../support/fake-stripe.ts';
import { insertActiveFlow } from '../support/flow-entries.ts';
import { startReceiver, type Answer } from '../support/https-receiver.ts';
import { addWebhook, deliveriesOf, publishSent, startWebhookLoop } from '../support/webhooks.ts';
import { startWebsites } from '../support/websites.ts';
import { cohortScenarios } from './cohort-scenarios.ts';
import { flowScenarios } from './flow-scenarios.ts';
import { rowScenarios } from './row-scenarios.ts';
import { scanScenarios } from './scan-scenarios.ts';
import { validation } from './validation-scenario.ts';
import type { TestLoop } from '../workflows/test-loop.ts';
import { until } from '../workflows/until.ts';

/** The retry schedule of webhooks, in seconds; short, because a recording takes as long. */
export const RECORDED_SCHEDULE = [1, 2];

/** What a scenario runs on: a worker, and one sender whose loops send nothing. */
export interface Stage {
  client: Client;
  database: Database;
  /** The name server of the worker. */
  dns: TestDnsServer;
  /** The payment service of the worker. */
  stripe: FakeStripe;
  /** The virus scanner of the worker. */
  clamd: FakeClamd;
  /** The files of the worker. */
  files: TestStore;
  send: TestLoop;
  webhook: TestLoop;
}

/** One workflow from start to end, recorded under `name`. */
export interface Scenario {
  /** The name of the file in `histories/`. Add new scenarios, and keep the old ones: old histories must still replay. */
  name: string;
  /** @returns the id of the workflow to record, once it has done everything worth recording */
  run(stage: Stage): Promise<string>;
}

/** Fills a wallet. If the outcome of the payment stays unknown, an operator has it looked up. */
async function topUp({ client, database, stripe }: Stage, answer: PayAnswer): Promise<string> {
  stripe.answer = answer;
  const { accountId } = await createTestTenant(database, `Paying ${answer}`);
  const { rows } = await database.pool.query<{ id: number }>(
    `insert into topups (account_id, amount_cents, currency, customer, payment_method)
     values ($1, 2500, 'USD', $2, 'pm_1') returning id`,
    [accountId, `cus_${answer}`],
  );
  const start = topUpStart({ id: rows[0]?.id ?? 0, accountId });
  const handle = await client.workflow.start(start.workflowType, {
    workflowId: start.workflowId,
    taskQueue: 'orchestration',
    args: start.input ?? [],
  });
  if (answer === 'break') {
    await until(async () => (await handle.describe()).historyLength >= 9, 30_000);
    await handle.signal(topUpSignals.look);
  }
  await handle.result();
  return start.workflowId;
}

async function lane(stage: Stage, kind: 'send' | 'webhook', signals: string[]): Promise<string> {
  const workflowId = laneWorkflowId(kind, 1);
  const handle = stage.client.workflow.getHandle(workflowId);
  const attached = () => until(async () => (await handle.query('report')) !== null, 30_000);
  await attached();
  for (const signal of signals) {
    const before = (await handle.describe()).historyLength;
    await handle.signal(signal);
    await until(async () => (await handle.describe()).historyLength >= before + 4);
    if (signal !== 'retire') await attached();
  }
  return workflowId;
}

/** Creates a webhook with its own tenant, and makes the first attempts for these messages. */
async function attempted(
  { database }: Stage,
  { name, url, messages }: { name: string; url: string; messages: number[] },
): Promise<number> {
  const tenant = await createTestTenant(database, name);
  const { id } = await addWebhook(database, tenant, url);
  const loop = await startWebhookLoop(database, { schedule: RECORDED_SCHEDULE });
  await publishSent(database, tenant, messages);
  await until(async () => (await deliveriesOf(database, id)).every((each) => each.attempt_count > 0), 30_000);
  await loop.stop();
  return id;
}

async function withEndpoint<T>(answer: Answer, work: (url: string) => Promise<T>): Promise<T> {
  const receiver = await startReceiver({ plain: true, answer });
  try {
    return await work(receiver.url('/hook', '127.0.0.1'));
  } finally {
    await receiver.close();
  }
}

/** Moves the start of a webhook's failure into the past, so that a limit is reached in 3 s, and wakes its workflow. */
async function age(stage: Stage, id: number, hours: number): Promise<void> {
  await stage.database.pool.query(
    `update webhooks set last_failure_at = now(),
       failing_since = now() - make_interval(hours => $2) + interval '3 seconds' where id = $1`,
    [id, hours],
  );
  await stage.client.workflow.getHandle(webhookWorkflowId(id)).signal('wake');
}

interface RecordedDomain {
  id: number;
  name: string;
  workflowId: string;
  handle: WorkflowHandle;
  /** Deletes it, and waits until its workflow has ended. */
  remove(): Promise<void>;
}

/** Starts the watch of a new domain. */
async function watchDomain(
  { client, database }: Stage,
  { tenantName, name, providerId = null }: { tenantName: string; name: string; providerId?: number | null },
): Promise<RecordedDomain> {
  const tenant = await createTestTenant(database, tenantName);
  const id = await insertPendingDomain(database, tenant, name);
  await database.pool.query('update domains set provider_id = $2 where id = $1', [id, providerId]);
  const start = watchStart({ id, accountId: tenant.accountId, brandId: tenant.brandId });
  const { workflowId } = start;
  const handle = await client.workflow.start(start.workflowType, {
    workflowId,
    taskQueue: 'orchestration',
    args: start.input ?? [],
  });
  return {
    id,
    name,
    workflowId,
    handle,
    async remove() {
      await database.pool.query('delete from domains where id = $1', [id]);
      await handle.signal('wake');
      await handle.result();
    },
  };
}

/** @returns the id of the provider */
async function addMailgun({ database }: Stage, baseUrl: string): Promise<number> {
  const settings = {
    api_key: 'key-0123456789abcdef',
    webhook_signing_key: 'signing-0123456789abcdef',
    base_url: baseUrl,
  };
  const kind = requireProviderKind('mailgun');
  const keyring = createKeyring(TEST_SECRET);
  return (await addProvider(database.pool, keyring, { name: 'recorded', kind, settings })).id;
}

/** A flow whose segment is compared, is looked at again because it changed, and is paused. */
async function flowAudience({ client, database }: Stage): Promise<string> {
  const { accountId, brandId } = await createTestTenant(database, 'Audience');
  const { rows } = await database.pool.query<{ id: number }>(
    `insert into segments (account_id, brand_id, name) values ($1, $2, 'Everybody') returning id`,
    [accountId, brandId],
  );
  const id = await insertActiveFlow(database.pool, { accountId, brandId }, { segmentId: rows[0]?.id ?? 0 });
  await database.pool.query('update flows set audience_seen_at = null where id = $1', [id]);
  const {
    workflowType,
    workflowId,
    input = [],
  } = flowAudienceStart({ id, accountId, brandId, name: 'Welcome' });
  const handle = await client.workflow.start(workflowType, {
    workflowId,
    taskQueue: 'orchestration',
    args: input,
  });
  const grown = (length: number) => until(async () => (await handle.describe()).historyLength >= length);
  await grown(11);
  const { historyLength } = await handle.describe();
  await handle.signal(flowAudienceSignals.wake);
  await grown(historyLength + 8);
  await database.pool.query(`update flows set status = 'paused' where id = $1`, [id]);
  await handle.signal(flowAudienceSignals.wake);
  await handle.result();
  return workflowId;
}

/** A scrape that a newer one interrupts. */
async function brandScrape({ client, database }: Stage): Promise<string> {
  const { pool } = database;
  const { accountId, brandId } = await createTestTenant(database, 'Scraped');
  const sites = await startWebsites();
  const page = '<title>Recorded Ltd</title>';
  let hangs = true;
  sites.handlers['127.0.0.1'] = ({ url }, response) => {
    if (url === '/robots.txt') response.writeHead(404).end();
    else if (!hangs) response.setHeader('content-type', 'text/html').end(page);
  };
  const begin = () =>
    inTransaction(pool, (trx) =>
      startScrape(trx, { accountId, brandId }, { url: sites.url('127.0.0.1'), overwrite: false }),
    );
  const workflowId = scrapeWorkflowId(brandId);
  await begin();
  await until(() => sites.requests.includes('GET 127.0.0.1/'), 60_000);
  hangs = false;
  await begin();
  await until(
    async () => (await client.workflow.getHandle(workflowId).describe()).status.name === 'COMPLETED',
    60_000,
  );
  await sites.close();
  return workflowId;
}

export const scenarios: Scenario[] = [
  { name: 'brand-scrape-1', run: brandScrape },
  {
    name: 'housekeeping-1',
    async run({ client }) {
      const workflowId = 'housekeeping-recorded';
      await client.workflow.execute('housekeeping', { workflowId, taskQueue: 'orchestration' });
      return workflowId;
    },
  },
  {
    name: 'send-lane-1',
    run: (stage) => lane(stage, 'send', ['pause', 'resume', 'drain', 'restart', 'resume']),
  },
  {
    name: 'webhook-lane-1',
    async run(stage) {
      const workflowId = await lane(stage, 'webhook', ['pause', 'retire']);
      await stage.client.workflow.getHandle(workflowId).result();
      return workflowId;
    },
  },
  {
    name: 'webhook-recovery-1',
    async run({ database }) {
      const tenant = await createTestTenant(database, 'Recorded');
      const { id } = await addWebhook(database, tenant, 'http://127.0.0.1:1/nobody-listens');
      const loop = await startWebhookLoop(database, { schedule: RECORDED_SCHEDULE });
      await publishSent(database, tenant, [1, 2]);
      await until(
        async () => (await deliveriesOf(database, id)).every(({ status }) => status === 'failed'),
        60_000,
      );
      await loop.stop();
      return webhookWorkflowId(id);
    },
  },
  {
    // The owners are warned after a day, and after three the webhook is turned off. By then nothing is left to retry.
    name: 'webhook-recovery-2',
    async run(stage) {
      const id = await attempted(stage, { name: 'Off', url: 'http://127.0.0.1:1/nobody', messages: [1] });
      const row = async () =>
        (await stage.database.pool.query('select warned_at, enabled from webhooks where id = $1', [id]))
          .rows[0] as { warned_at: Date | null; enabled: boolean };
      await until(
        async () => (await deliveriesOf(stage.database, id)).every(({ status }) => status === 'failed'),
        60_000,
      );
      await age(stage, id, 24);
      await until(async () => (await row()).warned_at !== null, 30_000);
      await age(stage, id, 72);
      await until(async () => !(await row()).enabled, 30_000);
      await stage.client.workflow.getHandle(webhookWorkflowId(id)).result();
      return webhookWorkflowId(id);
    },
  },
  {
    // The second retry succeeds.
    name: 'webhook-recovery-3',
    run(stage) {
      let requests = 0;
      const answer: Answer = (_request, response) => {
        requests += 1;
        response.writeHead(requests < 3 ? 500 : 200).end();
      };
      return withEndpoint(answer, async (url) => {
        const id = await attempted(stage, { name: 'Recovers', url, messages: [1] });
        await stage.client.workflow.getHandle(webhookWorkflowId(id)).result();
        return webhookWorkflowId(id);
      });
    },
  },
  {
    // The operator asks for all attempts while the workflow makes some.
    name: 'webhook-recovery-4',
    run(stage) {
      let works = false;
      const answer: Answer = (_request, response) => void response.writeHead(works ? 200 : 500).end();
      return withEndpoint(answer, async (url) => {
        const id = await attempted(stage, { name: 'Hastened', url, messages: [1, 2, 3, 4, 5, 6] });
        works = true;
        await stage.database.pool.query(
          `update webhook_deliveries set next_attempt_at = now() + make_interval(secs => id % 6 * 4)
           where webhook_id = $1`,
          [id],
        );
        const handle = stage.client.workflow.getHandle(webhookWorkflowId(id));
        await handle.signal('wake');
        await until(async () => {
          const { phase } = await handle.query<WebhookRecoveryState>('state');
          return phase === 'delivering';
        }, 30_000);
        await handle.signal('retryNow');
        await handle.result();
        return webhookWorkflowId(id);
      });
    },
  },
  {
    // Wrong, then right, then deleted.
    name: 'watch-domain-1',
    async run(stage) {
      const { database, dns } = stage;
      const domain = await watchDomain(stage, { tenantName: 'Watched', name: 'recorded.example' });
      const recheck = async (status: string) => {
        await domain.handle.signal('recheck');
        await until(async () => {
          const { rows } = await database.pool.query<{ status: string; checked: boolean }>(
            'select status, checked_at is not null as checked from domains where id = $1',
            [domain.id],
          );
          return rows[0]?.status === status && rows[0].checked;
        }, 30_000);
      };
      await recheck('pending');
      Object.assign(dns.zone, rightRecords(domain.id, domain.name));
      await recheck('verified');
      await domain.remove();
      return domain.workflowId;
    },
  },
  {
    // Its provider is down, then refuses it, then registers it; deleted, it is removed there.
    name: 'watch-domain-2',
    run(stage) {
      let status = 503;
      let has = false;
      const answer: Answer = (request, response) => {
        if (request.method === 'POST') has = status === 200;
        const code = request.method === 'GET' && !has ? 404 : status;
        response.writeHead(code, { 'content-type': 'application/json' });
        const key = { record_type: 'TXT', name: 'mx._domainkey.provided.example', value: 'k=rsa; p=MAILGUN' };
        response.end(JSON.stringify({ sending_dns_records: [key] }));
      };
      return withEndpoint(answer, async (url) => {
        const providerId = await addMailgun(stage, new URL(url).origin);
        const domain = await watchDomain(stage, {
          tenantName: 'Provided',
          name: 'provided.example',
          providerId,
        });
        const registered = (registration: string) =>
          until(async () => {
            const state = await domain.handle.query<DomainWatchState>('state');
            return state.phase === 'sleeping' && state.registration === registration;
          }, 90_000);
        await registered('waiting');
        status = 400;
        await domain.handle.signal('recheck');
        await registered('refused');
        status = 200;
        await domain.handle.signal('recheck');
        await registered('done');
        await domain.remove();
        return domain.workflowId;
      });
    },
  },
  {
    // Two others of the account are under way at first.
    name: 'run-export-1',
    async run({ client, database }) {
      const { pool } = database;
      const { accountId, brandId } = await createTestTenant(database, 'Exported');
      const insert = async (status: string) => {
        const { rows } = await pool.query<{ id: number }>(
          `insert into exports (account_id, brand_id, resource, status, started_at)
           values ($1, $2, 'suppressions', $3, now()) returning id`,
          [accountId, brandId, status],
        );
        return rows[0]?.id ?? 0;
      };
      const others = [await insert('processing'), await insert('processing')];
      const id = await insert('queued');
      const start = exportStart({ id, accountId, brandId, resource: 'suppressions' });
      const handle = await client.workflow.start(start.workflowType, {
        workflowId: start.workflowId,
        taskQueue: 'orchestration',
        args: start.input ?? [],
      });
      await until(async () => (await handle.describe()).historyLength >= 8, 30_000);
      await pool.query(`update exports set status = 'canceled' where id = any($1)`, [others]);
      await handle.signal('wake');
      await handle.result();
      return start.workflowId;
    },
  },
  { name: 'run-validation-1', run: validation },
  {
    // Scheduled, moved, paused and resumed by an operator while it is watched, and completed.
    name: 'campaign-1',
    async run({ client, database }) {
      const { pool } = database;
      const tenant = await createTestTenant(database, 'Campaigning');
      await insertContacts(pool, tenant, 5);
      const id = await insertSentCampaign(pool, tenant, {
        audience: { filters: [], segmentId: 1 },
        scheduledAt: new Date(Date.now() + 3_600_000),
      });
      const start = campaignStart({ id, ...tenant, name: 'Recorded' });
      const handle = await client.workflow.start(start.workflowType, {
        workflowId: start.workflowId,
        taskQueue: 'orchestration',
        args: start.input ?? [],
      });
      const rowIs = (condition: string) =>
        until(
          async () =>
            (await pool.query(`select 1 from campaigns where id = $1 and ${condition}`, [id])).rowCount === 1,
        );
      await until(async () => (await handle.query<CampaignState | null>('state'))?.waitingFor === 'schedule');
      await pool.query('update campaigns set begin_at = now() where id = $1', [id]);
      await handle.signal('wake');
      await rowIs(`phase = 'sending'`);
      await handle.signal('pause');
      await rowIs(`status = 'paused'`);
      await handle.signal('resume');
      await rowIs(`status = 'active'`);
      await sendDueBlocks(pool, id, new Date());
      await handle.result();
      return start.workflowId;
    },
  },
  {
    // Its messages are canceled while they wait.
    name: 'campaign-2',
    async run({ client, database }) {
      const { pool } = database;
      const tenant = await createTestTenant(database, 'Canceling');
      await insertContacts(pool, tenant, 5);
      const id = await insertSentCampaign(pool, tenant, { audience: { filters: [], segmentId: 1 } });
      const start = campaignStart({ id, ...tenant, name: 'Recorded' });
      const handle = await client.workflow.start(start.workflowType, {
        workflowId: start.workflowId,
        taskQueue: 'orchestration',
        args: start.input ?? [],
      });
      await until(async () => {
        const { rowCount } = await pool.query(`select 1 from campaigns where id = $1 and phase = 'sending'`, [
          id,
        ]);
        return rowCount === 1;
      });
      await handle.signal('cancel');
      await handle.result();
      return start.workflowId;
    },
  },
  {
    // Two others of the account run at first. Canceled while it waits for its turn.
    name: 'run-import-1',
    async run({ client, database }) {
      const { pool } = database;
      const { accountId, brandId } = await createTestTenant(database, 'Imported');
      const insert = async (status: string) => {
        const { rows } = await pool.query<{ id: number }>(
          `insert into imports (account_id, brand_id, resource, filename, options, status, started_at)
           values ($1, $2, 'contacts', 'contacts.csv', $3, $4, now()) returning id`,
          [accountId, brandId, importOptions.parse({}), status],
        );
        return rows[0]?.id ?? 0;
      };
      await insert('processing');
      await insert('processing');
      const id = await insert('queued');
      const start = importStart({ id, accountId, brandId, resource: 'contacts' });
      const handle = await client.workflow.start(start.workflowType, {
        workflowId: start.workflowId,
        taskQueue: 'orchestration',
        args: start.input ?? [],
      });
      await until(async () => (await handle.describe()).historyLength >= 10, 30_000);
      await pool.query(`update imports set status = 'canceled', finished_at = now() where id = $1`, [id]);
      await handle.signal('wake');
      await handle.result();
      return start.workflowId;
    },
  },
  ...flowScenarios,
  ...cohortScenarios,
  ...rowScenarios,
  ...scanScenarios,
  { name: 'flow-audience-1', run: flowAudience },
  { name: 'topup-1', run: (stage) => topUp(stage, 'succeeded') },
  { name: 'topup-2', run: (stage) => topUp(stage, 'break') },
];
