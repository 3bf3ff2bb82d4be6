// While clamd is down, mail waits for it in the operator's sight, and then arrives scanned or is held.
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { loadConfig } from '../../../../src/config.ts';
import { scanStart } from '../../../../src/features/inbox/scan/workflow.ts';
import { appendToOutbox } from '../../../../src/platform/outbox/append.ts';
import { type Engine, openEngine } from '../../../../src/platform/temporal/connection.ts';
import { run as runWorker } from '../../../../src/roles/worker.ts';
import { inboxScanWorkflowId } from '../../../../workflows/inbox/contract.ts';
import { startTestApi, TEST_SECRET, type TestApi } from '../../../support/api.ts';
import { type RealClamd, startClamd, VIRUS } from '../../../support/clamd.ts';
import { useEngine } from '../../../support/engine.ts';
import { eventually } from '../../../support/eventually.ts';
import { insertInbox } from '../../../support/inboxes.ts';
import { createTestStore, insertMailToScan, type TestStore } from '../../../support/mail-scans.ts';
import { testsThatNeed } from '../../../support/tests-that-need.ts';
import { addWebhook } from '../../../support/webhooks.ts';

const { describe, beforeAll, afterAll } = testsThatNeed('clamd');

/** Long enough for several attempts. How long the workflow waits at most is tested by time skipping. */
const OUTAGE_MS = 15_000;
const LARGE_BYTES = 25 * 1024 * 1024;

let api: TestApi;
let clamd: RealClamd;
let files: TestStore;
let engine: Engine;
let worker: { stop(): Promise<void> };
let inboxId: number;

const query = async <Row extends object>(text: string, values: unknown[]): Promise<Row[]> =>
  (await api.database.pool.query<Row>(text, values)).rows;

/** Stores a mail and starts its scan, as the loop that writes mail does. */
async function receive(attachments: string[]): Promise<number> {
  const receivedAt = new Date();
  const mail = { inboxId, attachments, receivedAt };
  const { id } = await insertMailToScan(api.database, files.store, api, mail);
  const { accountId, brandId } = api;
  await appendToOutbox(api.database.pool, {
    kind: 'start',
    ...scanStart({ id, accountId, brandId, received_at: receivedAt }),
  });
  return id;
}

/** What the engine's UI shows as the current details. */
async function detailsOf(id: number): Promise<string> {
  const handle = engine.client.workflow.getHandle(inboxScanWorkflowId(id));
  const { currentDetails } = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
  return currentDetails;
}

const outcomes = (ids: number[]) =>
  query<{ arrived: boolean; reason: string | null; results: string[]; reported: boolean[] | null }>(
    `select m.arrived_at is not null as arrived, m.quarantine ->> 'reason' as reason,
       array(select a.scan_status from conversation_attachments a where a.conversation_message_id = m.id order by a.id)
         as results,
       (select json_agg(a -> 'scanned') from events e, jsonb_array_elements(e.data::jsonb -> 'attachments') a
         where e.type = 'email.received' and e.data ->> 'conversation_message_id' = m.id::text) as reported
     from conversation_messages m where m.id = any($1) order by m.id`,
    [ids],
  );

describe('mail while clamd is down', () => {
  beforeAll(async () => {
    [api, clamd, files] = await Promise.all([startTestApi(), startClamd(), createTestStore()]);
    const { address, namespace } = await useEngine();
    const config = loadConfig({
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      DATABASE_URL: api.database.url,
      APP_SECRET: TEST_SECRET,
      CARILLON_HOME: files.home,
      CLAMD_URL: clamd.url,
      LOG_LEVEL: 'silent',
      SHUTDOWN_GRACE_SECONDS: '1',
    });
    engine = openEngine(config);
    worker = await runWorker(config);
    inboxId = await insertInbox(api.database, api, 'support@scanned.test');
    await addWebhook(api.database, api, 'https://hooks.example.com/', ['email.received']);
  }, 120_000);
  afterAll(async () => {
    await worker.stop();
    await engine.close();
    await Promise.all([api.close(), clamd.close(), files.remove()]);
  });

  it('waits for it, and arrives with its results, even if it is large', async () => {
    await clamd.stop();
    const mails = [
      await receive(['clean', 'clean, too']),
      await receive(['clean', `with ${VIRUS}`]),
      await receive([randomBytes(LARGE_BYTES / 2).toString('hex')]),
    ];
    for (const id of mails)
      await eventually(async () =>
        expect(await detailsOf(id)).toMatch(/waits for the virus scanner until 20.*connect ENOENT/s),
      );
    await delay(OUTAGE_MS);
    expect((await outcomes(mails)).map(({ arrived }) => arrived)).toEqual([false, false, false]);
    await clamd.start();
    await eventually(async () =>
      expect(await outcomes(mails)).toEqual([
        { arrived: true, reason: null, results: ['clean', 'clean'], reported: [true, true] },
        { arrived: false, reason: 'virus', results: ['clean', 'infected'], reported: null },
        { arrived: true, reason: null, results: ['clean'], reported: [true] },
      ]),
    );
    for (const id of mails)
      await eventually(async () => expect(await detailsOf(id)).toContain('has been scanned'));
  }, 180_000);
});
