// A mail waits ten minutes for its scan, then arrives unscanned, and its scan is retried for seven days.
import { expect, it } from '@jest/globals';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { scanStart } from '../../src/features/inbox/scan/workflow.ts';
import { installRuntime } from '../../src/platform/temporal/worker.ts';
import type { ScanActivities, ScanProgress, ScanState } from '../../workflows/inbox/contract.ts';
import { createTestTenant, type TestTenant } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sharedWorkflowBundle } from '../support/engine.ts';
import { type FakeClamd, startFakeClamd } from '../support/fake-clamd.ts';
import { insertInbox } from '../support/inboxes.ts';
import { createTestStore, insertMailToScan, mailScan, type TestStore } from '../support/mail-scans.ts';
import { testsThatNeed } from '../support/tests-that-need.ts';
import { createTimeSkippingEnvironment } from '../support/time-skipping.ts';

const { afterAll, beforeAll, beforeEach, describe } = testsThatNeed('time-skipping server');

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const FAILURE = 'out of memory ERROR';

let env: TestWorkflowEnvironment;
let db: TestDatabase;
let files: TestStore;
let clamd: FakeClamd;
let tenant: TestTenant;
let inboxId: number;
/** How old the mail was at each attempt and when it was reported unscanned, in minutes. */
let attempts: number[] = [];
let reports: number[] = [];
let onReport = () => undefined as void;

beforeAll(async () => {
  installRuntime(pino({ level: 'silent' }));
  [env, db, files, clamd] = await Promise.all([
    createTimeSkippingEnvironment(),
    createTestDatabase(),
    createTestStore(),
    startFakeClamd(),
  ]);
  tenant = await createTestTenant(db.database, 'Scanned');
  inboxId = await insertInbox(db.database, tenant, 'support@acme.test');
}, 120_000);
afterAll(async () => {
  await env.teardown();
  await Promise.all([db.drop(), files.remove(), clamd.close()]);
});
beforeEach(() => {
  attempts = [];
  reports = [];
  onReport = () => undefined;
  clamd.verdict = () => 'stream: OK';
});

/** Runs the scan of a new mail to its end. @param changes of the activities */
async function scan(
  { ageMs = 0, before = () => undefined }: { ageMs?: number; before?: () => unknown },
  change: (work: () => Promise<ScanProgress>) => Promise<ScanProgress> = (work) => work(),
) {
  const receivedAt = new Date((await env.currentTimeMs()) - ageMs);
  const { id } = await insertMailToScan(db.database, files.store, tenant, {
    inboxId,
    attachments: ['one'],
    receivedAt,
  });
  const work = mailScan(db.database, files.store, clamd.url);
  const age = (time: number) => (time - receivedAt.getTime()) / MINUTE_MS;
  const activities: ScanActivities = {
    scanMail(_id, asOf) {
      attempts.push(age(Date.parse(asOf)));
      before();
      return change(() => work.advance(id, new Date(asOf), new AbortController().signal));
    },
    async reportUnscanned() {
      reports.push(age(await env.currentTimeMs()));
      await work.report(id);
      onReport();
    },
  };
  const options = { connection: env.nativeConnection, activities };
  const workflowBundle = await sharedWorkflowBundle();
  const workers = [
    await Worker.create({ ...options, taskQueue: 'orchestration', workflowBundle }),
    await Worker.create({ ...options, taskQueue: 'bulk' }),
  ];
  const start = scanStart({ id, ...tenant, received_at: receivedAt });
  const run = async () => {
    const handle = await env.client.workflow.start(start.workflowType, {
      workflowId: start.workflowId,
      taskQueue: 'orchestration',
      args: start.input ?? [],
    });
    return (await handle.result()) as ScanState;
  };
  const [bulk, main] = [workers[1] as Worker, workers[0] as Worker];
  const state = await bulk.runUntil(() => main.runUntil(run));
  const { rows } = await db.database.pool.query<{ arrived: boolean; scan_status: string }>(
    `select m.arrived_at is not null as arrived, a.scan_status
     from conversation_messages m join conversation_attachments a on a.conversation_message_id = m.id where m.id = $1`,
    [id],
  );
  return { state, row: rows[0] };
}

describe('the workflow of a scan', () => {
  it('ends after one attempt if the scanner is available', async () => {
    const { state, row } = await scan({});
    expect(state).toEqual({
      phase: 'done',
      problem: null,
      retryAt: null,
      files: 2,
      finished: 2,
      reported: false,
    });
    expect(row).toEqual({ arrived: true, scan_status: 'clean' });
    expect([attempts.length, reports]).toEqual([1, []]);
  });

  it('retries soon, so that a mail arrives scanned after a minute without a scanner', async () => {
    clamd.verdict = () => FAILURE;
    const { row } = await scan({
      before: () => {
        if ((attempts.at(-1) ?? 0) > 1) clamd.verdict = () => 'stream: OK';
      },
    });
    expect(row).toEqual({ arrived: true, scan_status: 'clean' });
    expect(reports).toEqual([]);
    expect(attempts.at(-1)).toBeLessThan(1.5);
    expect(attempts.length).toBeLessThan(40);
  });

  it('lets the mail arrive after ten minutes, and stores a later result', async () => {
    clamd.verdict = () => FAILURE;
    const { state, row } = await scan({
      before: () => {
        if ((attempts.at(-1) ?? 0) > 60) clamd.verdict = () => 'stream: OK';
      },
    });
    expect(reports).toEqual([expect.closeTo(10, 0)]);
    expect(state).toMatchObject({ phase: 'done', reported: true });
    expect(row).toEqual({ arrived: true, scan_status: 'clean' });
  });

  it('lets the mail arrive while an attempt hangs', async () => {
    const reported = new Promise<void>((resolve) => (onReport = resolve));
    clamd.verdict = () => FAILURE;
    const { state } = await scan({ ageMs: 9.8 * MINUTE_MS }, async (work) => {
      if (attempts.length === 1) return work();
      // Time is not skipped while an activity runs.
      await reported;
      clamd.verdict = () => 'stream: OK';
      return work();
    });
    expect(reports).toHaveLength(1);
    expect(reports[0]).toBeGreaterThanOrEqual(10);
    expect(state).toMatchObject({ phase: 'done', reported: true });
  });

  it('tries once before an old mail arrives', async () => {
    const { row } = await scan({ ageMs: 30 * MINUTE_MS });
    expect(row).toEqual({ arrived: true, scan_status: 'clean' });
    expect(reports).toEqual([]);
  });

  it('gives up after seven days', async () => {
    clamd.verdict = () => FAILURE;
    const { state, row } = await scan({ ageMs: 6.5 * DAY_MS });
    expect(state).toMatchObject({ phase: 'done', reported: true });
    expect(row).toEqual({ arrived: true, scan_status: 'skipped' });
    const [previous = 0, last = 0] = attempts.slice(-2);
    expect(last - previous).toBeCloseTo(5, 0);
    expect(last).toBeGreaterThanOrEqual((7 * DAY_MS) / MINUTE_MS);
  });
});
