/** A flow with a step of nearly every type, and the results of its runs. */
import { createHash } from 'node:crypto';
import { expect } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { flowRunWorkflowId } from '../../../workflows/flows/contract.ts';
import type { CrashStage } from './stage.ts';

export const START = 'crash_start';
export const ORDER = 'crash_order';
export const DONE = 'crash_done';
/** How long a run waits for {@link ORDER}. */
export const WAIT_SECONDS = 4;

interface Asked {
  method?: string;
  path: string;
  body?: object;
  /** Distinguishes requests that are otherwise equal. */
  turn?: number;
}

/**
 * Sends a request like a careful client does, who repeats it, with its idempotency key, while the service is
 * unavailable.
 * @throws Error for a 4xx, or if there is no response within `limitMs`
 */
export async function askThroughOutages<T>(
  { apiPort, apiKey }: Pick<CrashStage, 'apiPort' | 'apiKey'>,
  { method = 'POST', path, body, turn = 0 }: Asked,
  limitMs = 120_000,
): Promise<T> {
  const end = Date.now() + limitMs;
  const key = createHash('sha256')
    .update(`${path} ${JSON.stringify(body)} ${turn}`)
    .digest('hex');
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${apiPort}/v1/my${path}`, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      signal: AbortSignal.timeout(30_000),
      ...(body ? { body: JSON.stringify(body) } : {}),
    }).catch(() => null);
    const text = await answer?.text().catch(() => null);
    if (answer?.ok && typeof text === 'string') return (text === '' ? undefined : JSON.parse(text)) as T;
    if (answer && answer.status < 500) throw new Error(`${path}: ${answer.status} ${text}`);
    if (Date.now() > end) throw new Error(`${path}: no answer for ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const email = (subject: string) => ({ type: 'email', subject, body: `<p>${subject}</p>` });

/** The steps of the flow. Each mail is named by its subject. */
export function crashSteps(listId: number, webhookUrl: string) {
  return [
    email('A'),
    { type: 'wait', duration: 1 },
    { type: 'update_contact', data: { stage: 'welcomed' } },
    {
      type: 'condition',
      filters: [{ name: 'data.plan', predicate: 'eq', value: 'pro' }],
      yes: [email('B pro')],
      no: [email('B free')],
    },
    { type: 'webhook', url: webhookUrl, method: 'POST', body: { from: 'flow' } },
    {
      type: 'wait_for_event',
      event_name: ORDER,
      duration: WAIT_SECONDS,
      include_since: 'entry',
      yes: [email('C ordered')],
      no: [email('C waited')],
    },
    {
      type: 'split',
      branches: [
        { weight: 50, steps: [email('D one')] },
        { weight: 50, steps: [email('D two')] },
      ],
    },
    { type: 'add_to_list', list_id: listId },
    { type: 'event', event_name: DONE, forward_event_data: true },
  ];
}

/** The step types on the complete path through {@link crashSteps}. */
export const WHOLE_PATH = [
  ...['email', 'wait', 'update_contact', 'condition', 'email', 'webhook', 'wait_for_event', 'email', 'split'],
  ...['email', 'add_to_list', 'event'],
];

/** The address of contact `n` in the flow of a seed. */
export const flowAddress = (seed: number, n: number) => `flow${seed}-${n}@example.com`;

type Order = 'at once' | 'some time' | 'never';
/** When the contact tracks {@link ORDER} after the entry. */
export const orderOf = (n: number): Order => (['at once', 'some time', 'never'] as const)[n % 3] as Order;
/** Whether the contact takes the condition's `yes` branch. */
export const isPro = (n: number) => n % 2 === 0;

interface CrashFlow {
  flowId: number;
  /** The list to which a step adds the contact. */
  listId: number;
  /** The list of its trigger; null: its trigger is the event `crash_start_<seed>`. */
  entryListId: number | null;
}

/**
 * Creates a flow of {@link crashSteps} and activates it.
 * @param trigger `list`: its runs are in cohorts
 */
export async function startCrashFlow(
  stage: CrashStage,
  seed: number,
  trigger: 'event' | 'list' = 'event',
): Promise<CrashFlow> {
  await stage.database.pool.query(`update brands set physical_address = '1 Main St' where account_id = $1`, [
    stage.accountId,
  ]);
  const createList = async (name: string) =>
    (await askThroughOutages<{ id: number }>(stage, { path: '/lists', body: { name } })).id;
  const listId = await createList(`Through ${seed}`);
  const entryListId = trigger === 'list' ? await createList(`Into ${seed}`) : null;
  const { id: flowId } = await askThroughOutages<{ id: number }>(stage, {
    path: '/flows',
    body: {
      name: `Crash ${seed}`,
      trigger: entryListId === null ? { event: `${START}_${seed}` } : { contact_list_id: entryListId },
      steps: crashSteps(listId, stage.receiver.url(`/flow${seed}`, '127.0.0.1')),
    },
  });
  await askThroughOutages(stage, { path: `/flows/${flowId}/activate` });
  return { flowId, listId, entryListId };
}

/**
 * Lets a contact enter the flow through the API of `target`. Only a contact who orders at once has ordered by the time
 * of entry.
 */
export async function enterFlow(
  target: Pick<CrashStage, 'apiPort' | 'apiKey'>,
  seed: number,
  n: number,
  entryListId: number | null = null,
): Promise<void> {
  const email = flowAddress(seed, n);
  const data = isPro(n) ? { plan: 'pro' } : {};
  const track = (event: string) =>
    askThroughOutages(target, { path: '/events', body: { event, contact_email: email } });
  await askThroughOutages(target, { path: '/contacts', body: { email, data } });
  if (entryListId === null) await track(`${START}_${seed}`);
  else
    await askThroughOutages(target, { path: `/lists/${entryListId}/contacts/bulk`, body: { add: [email] } });
  if (orderOf(n) === 'at once') await track(ORDER);
}

/** `PENDING_ACTIVITY_STATE_SCHEDULED` of temporal.api.enums.v1: no worker has the activity. */
const SCHEDULED = 1;

/** Makes the engine repeat requests at once. Otherwise, it waits a minute because their worker was killed. */
export async function hurryCalls({ database, engine }: CrashStage, flowId: number): Promise<void> {
  const { rows } = await database.pool.query<{ contactId: number; cause: string }>(
    `select contact_id as "contactId", cause from flow_runs
     where flow_id = $1 and state = 'active' and waits_for = 'webhook'`,
    [flowId],
  );
  const connection = await Connection.connect({ address: engine.address, connectTimeout: 2_000 });
  try {
    const client = new Client({ connection });
    for (const { contactId, cause } of rows) {
      const workflowId = flowRunWorkflowId(flowId, contactId, cause);
      const { raw } = await client.workflow.getHandle(workflowId).describe();
      const delayed = raw.pendingActivities?.filter(
        ({ state, attempt }) => Number(state) === SCHEDULED && (attempt ?? 0) > 1,
      );
      for (const { activityId } of delayed ?? []) {
        const { namespace } = client.options;
        await connection.workflowService.resetActivity({
          namespace,
          execution: { workflowId },
          id: activityId,
        });
      }
    }
  } finally {
    await connection.close();
  }
}

/** The number of a flow's runs, of those that have not ended, and of their queued messages. */
export async function countRuns(
  { database }: CrashStage,
  flowId: number,
): Promise<{ runs: number; active: number; queued: number }> {
  const { rows } = await database.pool.query<{ runs: number; active: number; queued: number }>(
    `select count(*) as runs, count(*) filter (where state = 'active') as active,
       (select count(*) from messages where flow_id = $1 and status = 'queued') as queued
     from flow_runs where flow_id = $1`,
    [flowId],
  );
  return rows[0] ?? { runs: 0, active: 0, queued: 0 };
}

/** A run and what it has done, according to the rows. */
export interface CrashedRun {
  email: string;
  state: string;
  reason: string | null;
  /** In path order. */
  types: string[];
  outcomes: (string | null)[];
  places: number[];
  /** The subjects of its messages, in the order of their ids. */
  subjects: string[];
  statuses: string[];
  /** How many times the last event was tracked. */
  done: number;
  stage: string | null;
  isListed: boolean;
}

/** Reads all runs of a flow. Each message has the subject of its step. */
export async function readRuns(
  { database: { pool } }: CrashStage,
  flowId: number,
  listId: number,
): Promise<CrashedRun[]> {
  const { rows } = await pool.query<CrashedRun>(
    `select c.email, r.state, r.reason, s.types, s.outcomes, s.places,
       coalesce(m.subjects, '{}') as subjects, coalesce(m.statuses, '{}') as statuses,
       (select count(*)::int from contact_events e join event_names n on n.id = e.name_id
        where e.contact_id = c.id and n.name = $3) as done,
       c.data ->> 'stage' as stage,
       exists (select 1 from list_members l where l.list_id = $2 and l.contact_id = c.id) as "isListed"
     from flow_runs r join contacts c on c.id = r.contact_id
     left join lateral (
       select array_agg(type order by n) as types, array_agg(outcome order by n) as outcomes,
         array_agg(n order by n) as places
       from flow_run_steps where run_id = r.id) s on true
     left join (
       select m.flow_run_id, array_agg(t.subject order by m.id) as subjects, array_agg(m.status order by m.id) as statuses
       from messages m join templates t on t.flow_id = m.flow_id and t.action_id = m.flow_step_id
       where m.flow_id = $1 group by 1) m on m.flow_run_id = r.id
     where r.flow_id = $1 order by r.id`,
    [flowId, listId, DONE],
  );
  return rows;
}

const branchOf = ({ subjects }: CrashedRun, letter: string) =>
  subjects.filter((subject) => subject.startsWith(`${letter} `));

/** What a run must have done, whatever was killed. */
export function expectWholeRun(run: CrashedRun, seed: number): void {
  const n = Number(run.email.slice(`flow${seed}-`.length, run.email.indexOf('@')));
  expect(run).toMatchObject({ state: 'completed', stage: 'welcomed', isListed: true, done: 1 });
  expect(run.types).toEqual(WHOLE_PATH);
  expect(run.places).toEqual(WHOLE_PATH.map((_, place) => place));
  expect(run.subjects).toHaveLength(4);
  expect(run.subjects[0]).toBe('A');
  expect(branchOf(run, 'B')).toEqual([isPro(n) ? 'B pro' : 'B free']);
  const ordered = branchOf(run, 'C');
  expect(ordered).toHaveLength(1);
  if (orderOf(n) === 'at once') expect(ordered).toEqual(['C ordered']);
  if (orderOf(n) === 'never') expect(ordered).toEqual(['C waited']);
  expect(branchOf(run, 'D')).toHaveLength(1);
}
