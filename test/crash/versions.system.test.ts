// Processes of two versions of Carillon share all work, as during an upgrade: nothing is lost, repeated or miscounted.
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Campaign } from '../../src/features/campaigns/schema.ts';
import type { Import } from '../../src/features/imports/schema.ts';
import { campaignWorkflowId } from '../../workflows/campaigns/contract.ts';
import { importWorkflowId } from '../../workflows/imports/contract.ts';
import { content, filledList, prepareSender } from '../support/campaign-requests.ts';
import { type Accepted, startSending } from '../support/crash/client.ts';
import { type AwaitedRows, explained } from '../support/crash/explain.ts';
import { reportedIds, untilQuiet } from '../support/crash/findings.ts';
import {
  askThroughOutages,
  countRuns,
  enterFlow,
  expectWholeRun,
  readRuns,
  startCrashFlow,
} from '../support/crash/flow-crash.ts';
import type { Role } from '../support/crash/role.ts';
import { scale } from '../support/crash/scale.ts';
import { accountOf, type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { eventually } from '../support/eventually.ts';
import { importForm } from '../support/imports.ts';

const { seconds, restartMs } = scale.versions;
/** The folder of the other version, with its packages installed. By default two generations of this version run. */
const other = process.env.CRASH_BEFORE ?? process.cwd();
const SEED = 1;
/** Of the flow whose runs are in cohorts. */
const COHORT_SEED = 2;
const MESSAGES_PER_BATCH = 50;
const BATCH_MS = 1_000;
const ENTRY_MS = 250;
/** Between two campaigns, and between two imports. */
const ROUND_MS = 5_000;
const RECIPIENTS = 200;
const ROWS = 500;
const SETTLE_MS = 300_000;
const REQUEST_MS = 60_000;

/** A worker with a long activity needs the whole time to stop. */
const settings = { PUBLIC_URL: 'https://carillon.crash.test', SHUTDOWN_GRACE_SECONDS: '2' };

type Api = Pick<CrashStage, 'apiPort' | 'apiKey'>;

let stage: CrashStage;
let apis: readonly [Api, Api];
let account: { accountId: number; brandId: number };
/** Whether the load ends: the time is up, and each worker and sender has been restarted. */
let isOver = false;

beforeAll(async () => {
  stage = await openCrashStage({ settings, before: other });
  const { apiKey, before } = stage;
  apis = [stage, { apiKey, apiPort: before?.apiPort ?? 0 }];
  account = await accountOf(stage);
  await prepareSender(stage, account, 'versions.example', null);
}, 180_000);
afterAll(async () => {
  await stage.close();
}, 60_000);

const apiOf = (n: number): Api => apis[n % 2] as Api;

/**
 * Unfinished work, and how much of it may be open at a time. On a busy machine, a load at a fixed rate would grow
 * without bounds: the load ends with the restarts, and open work makes them slower.
 */
const OPEN = {
  messages: { rows: 'from send_queue', most: 200 },
  runs: {
    rows: `from (select from flow_runs where state = 'active' union all select from flow_entries) r`,
    most: 80,
  },
  campaigns: { rows: `from campaigns where status = 'active'`, most: 3 },
  imports: { rows: 'from imports where finished_at is null', most: 3 },
} as const;

async function mayAdd(kind: keyof typeof OPEN): Promise<boolean> {
  const { rows, most } = OPEN[kind];
  const found = await stage.database.pool.query<{ open: number }>(`select count(*) as open ${rows}`);
  return (found.rows[0]?.open ?? 0) < most;
}

/**
 * Calls `act` once an interval, never twice at the same time, until the load ends.
 * @param kind what `act` adds; it is not called while enough of that is open
 * @returns the number of calls
 */
async function repeat(
  everyMs: number,
  act: (n: number) => Promise<unknown>,
  kind?: keyof typeof OPEN,
): Promise<number> {
  let n = 0;
  while (!isOver) {
    const acts = kind === undefined || (await mayAdd(kind));
    await Promise.all([acts ? act(n) : null, delay(everyMs)]);
    if (acts) n += 1;
  }
  return n;
}

async function sendMessages(): Promise<Accepted[]> {
  const accepted: Accepted[] = [];
  const sendBatch = async (n: number) => {
    const sent = startSending({
      ...apiOf(n),
      prefix: `versions-${n}`,
      count: MESSAGES_PER_BATCH,
      parallel: 4,
      ahead: Infinity,
      arrived: () => 0,
      outage: new AbortController().signal,
    });
    await sent.done;
    accepted.push(...sent.accepted);
  };
  await repeat(BATCH_MS, sendBatch, 'messages');
  return accepted;
}

async function sendCampaign(n: number): Promise<number> {
  const { listId } = await filledList(stage, account, RECIPIENTS);
  const { id } = await askThroughOutages<Campaign>(apiOf(n), {
    path: '/campaigns',
    body: {
      name: `Versions ${n}`,
      trigger_attributes: { contact_list_id: listId },
      template_attributes: content,
    },
  });
  await askThroughOutages(apiOf(n + 1), { path: `/campaigns/${id}/send`, body: {} });
  return id;
}

async function importRows(n: number): Promise<number> {
  const { apiPort, apiKey } = apiOf(n);
  const lines = Array.from({ length: ROWS }, (_, row) => `import-${n}-${row}@example.com,Ada`);
  const answer = await fetch(`http://127.0.0.1:${apiPort}/v1/my/imports`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body: importForm({ file: ['email,first_name', ...lines].join('\r\n') }),
    signal: AbortSignal.timeout(REQUEST_MS),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return (JSON.parse(text) as Import).id;
}

/**
 * Restarts one worker or sender after another as an upgrade does, so that each takes over what another has begun. Ends
 * the load when the time is up, though not before each of them has been restarted.
 */
async function restartInTurn(): Promise<void> {
  const { worker, senders, before } = stage;
  const roles = [before?.worker, worker, before?.sender, ...senders] as Role[];
  const end = Date.now() + seconds * 1_000;
  await repeat(restartMs, async (n) => {
    const role = roles[n % roles.length] as Role;
    await role.stop();
    await role.start();
    isOver = n + 1 >= roles.length && Date.now() >= end;
  });
}

/** @throws Error that says what is unfinished, if it takes too long */
const settled = <T>(awaited: AwaitedRows, check: () => Promise<T>): Promise<T> =>
  explained(stage, awaited, eventually(check, SETTLE_MS, 250));

async function completed<T extends { status: string }>(path: string): Promise<T> {
  const found = await askThroughOutages<T>(stage, { method: 'GET', path });
  expect(found.status).toBe('completed');
  return found;
}

const completedCampaign = (id: number): Promise<Campaign> =>
  settled(
    {
      sql: `select $2 as workflow_id, c.*, (
              select jsonb_agg(b) from campaign_blocks b where b.campaign_id = c.id and b.closed_at is null) as open_blocks,
              (select jsonb_object_agg(status, count) from (
                select status, count(*) from messages where campaign_id = c.id group by 1) m) as messages
            from campaigns c where id = $1`,
      values: [id, campaignWorkflowId(id)],
    },
    () => completed(`/campaigns/${id}`),
  );

const completedImport = (id: number): Promise<Import> =>
  settled(
    { sql: 'select $2 as workflow_id, i.* from imports i where id = $1', values: [id, importWorkflowId(id)] },
    () => completed(`/imports/${id}`),
  );

const completedRuns = (flowId: number, runs: number): Promise<void> =>
  settled(
    {
      sql: `select coalesce(
              (select concat_ws('/', 'flow-cohort', k.flow_id, k.n) from flow_cohorts k where k.id = r.cohort_id),
              concat_ws('/', 'flow-run', flow_id, contact_id, cause)) as workflow_id, r.* from flow_runs r
            where flow_id = $1 and state = 'active' order by id`,
      values: [flowId],
    },
    async () => expect(await countRuns(stage, flowId)).toEqual({ runs, active: 0, queued: 0 }),
  );

async function countCohorts(flowId: number): Promise<number> {
  const { rows } = await stage.database.pool.query<{ count: number }>(
    'select count(distinct cohort_id) from flow_runs where flow_id = $1',
    [flowId],
  );
  return rows[0]?.count ?? 0;
}

/** Workflows that have failed, and those with a task that failed: what one version did, the other could not repeat. */
async function failedWorkflows(): Promise<string[]> {
  const connection = await Connection.connect({ address: stage.engine.address });
  try {
    const { workflow } = new Client({ connection });
    const found: string[] = [];
    for await (const { workflowId } of workflow.list({ query: 'ExecutionStatus = "Failed"' }))
      found.push(workflowId);
    for await (const { workflowId, runId } of workflow.list()) {
      const { events } = await workflow.getHandle(workflowId, runId).fetchHistory();
      const failure = events?.find((event) => event.workflowTaskFailedEventAttributes);
      if (failure)
        found.push(`${workflowId}: ${failure.workflowTaskFailedEventAttributes?.failure?.message}`);
    }
    return found;
  } finally {
    await connection.close();
  }
}

function expectEachMailOnce(accepted: readonly Accepted[]): void {
  const arrivals = stage.sink.arrivals.map(({ to, subject }) => `${to} ${subject}`);
  expect(new Set(arrivals).size).toBe(arrivals.length);
  const reached = new Set(stage.sink.arrivals.map(({ to }) => to));
  expect(accepted.filter(({ to }) => !reached.has(to))).toEqual([]);
  const requests = stage.receiver.requests.filter(({ url }) => url === '/events');
  const reported = reportedIds({ requests });
  expect(accepted.filter(({ id }) => !reported.has(id))).toEqual([]);
}

describe('two versions of Carillon that run together', () => {
  it(
    'lose, repeat and miscount nothing, while their workers and senders are restarted in turn',
    async () => {
      const alone = { ...(await startCrashFlow(stage, SEED)), seed: SEED, entered: 0 };
      const together = {
        ...(await startCrashFlow(stage, COHORT_SEED, 'list')),
        ...{ seed: COHORT_SEED, entered: 0 },
      };
      const flows = [alone, together];
      const enter = async (n: number) => {
        const flow = n % 4 < 2 ? alone : together;
        await enterFlow(apiOf(n), flow.seed, n, flow.entryListId);
        flow.entered += 1;
      };
      const campaigns: number[] = [];
      const imports: number[] = [];
      const [accepted] = await Promise.all([
        sendMessages(),
        repeat(ENTRY_MS, enter, 'runs'),
        repeat(ROUND_MS, async (n) => campaigns.push(await sendCampaign(n)), 'campaigns'),
        repeat(ROUND_MS, async (n) => imports.push(await importRows(n)), 'imports'),
        restartInTurn(),
      ]);

      for (const id of campaigns) {
        const { data } = await completedCampaign(id);
        expect(data.progress).toMatchObject({ audience_count: RECIPIENTS, sent_count: RECIPIENTS });
      }
      for (const id of imports) {
        expect(await completedImport(id)).toMatchObject({
          created_count: ROWS,
          failed_count: 0,
        });
      }
      for (const { flowId, entered } of flows) await completedRuns(flowId, entered);
      await explained(stage, null, untilQuiet(stage.database));

      for (const { flowId, listId, seed } of flows) {
        for (const run of await readRuns(stage, flowId, listId)) expectWholeRun(run, seed);
      }
      expect(await countCohorts(together.flowId)).toBeGreaterThan(0);
      expectEachMailOnce(accepted);
      const mails = accepted.length + 4 * (alone.entered + together.entered) + campaigns.length * RECIPIENTS;
      expect(stage.sink.arrivals).toHaveLength(mails);
      const clients = new Set(stage.sink.arrivals.map(({ client }) => client));
      expect([...clients].sort()).toEqual(['sender-1', 'sender-2', 'sender-before']);
      expect(await failedWorkflows()).toEqual([]);
      stage.requireNoDeaths();
    },
    seconds * 1_000 + 2 * SETTLE_MS,
  );
});
