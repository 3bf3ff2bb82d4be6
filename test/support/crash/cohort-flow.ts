/** A flow of many steps for the contacts of a list, who differ in what they do, and what they do when. */
import { askThroughOutages } from './flow-crash.ts';
import { fractionOf } from './send-and-kill.ts';
import type { CrashStage } from './stage.ts';

/** Ids of the steps. {@link NEWS} is a step of the second version only. */
export const STEP = {
  ...{ welcome: 1, pause: 2, plan: 3, pro: 4, free: 5, webhook: 6, even: 7, list: 8, order: 9, ordered: 10 },
  ...{ patience: 11, waited: 12, gaveUp: 13, split: 14, one: 15, two: 16, paid: 17, done: 18 },
} as const;
/** The id that the service gives the step of the second version. */
export const NEWS = 19;

/** In seconds. */
export const PAUSE_SECONDS = 2;
export const ORDER_SECONDS = 6;
export const PAID_SECONDS = 4;
/** How many emails a contact gets at most. The longest path has more. */
export const CAP = 3;

export const orderOf = (seed: number) => `cohort_order_${seed}`;
export const paidOf = (seed: number) => `cohort_paid_${seed}`;
export const goalOf = (seed: number) => `cohort_goal_${seed}`;
export const doneOf = (seed: number) => `cohort_done_${seed}`;
/** The least total of an order that counts. */
const LEAST = 10;

const email = (id: number, subject: string) => ({ type: 'email', id, subject, body: `<p>${subject}</p>` });
const is = (name: string, value: unknown) => [{ name, predicate: 'eq', value }];

/** The steps, with a step of the second version if it is given. */
export function cohortSteps(seed: number, listId: number, url: string, news: object[] = []) {
  return [
    email(STEP.welcome, 'A'),
    { type: 'wait', id: STEP.pause, duration: PAUSE_SECONDS },
    {
      ...{ type: 'condition', id: STEP.plan, filters: is('data.plan', 'pro') },
      yes: [email(STEP.pro, 'B pro')],
      no: [{ type: 'update_contact', id: STEP.free, data: { tier: 'free' } }],
    },
    { type: 'webhook', id: STEP.webhook, url, method: 'POST', body: { from: 'cohort' } },
    {
      ...{ type: 'condition', id: STEP.even, filters: is(`step.${STEP.webhook}.body.even`, true) },
      yes: [{ type: 'add_to_list', id: STEP.list, list_id: listId }],
      no: [],
    },
    {
      ...{ type: 'wait_for_event', id: STEP.order, event_name: orderOf(seed), duration: ORDER_SECONDS },
      ...{
        filters: [{ name: 'received.total', predicate: 'gteq', value: LEAST }],
        include_since: 'entry',
      },
      yes: [email(STEP.ordered, 'C ordered')],
      no: [
        {
          ...{ type: 'condition', id: STEP.patience, filters: is('data.patient', true) },
          yes: [email(STEP.waited, 'C waited')],
          no: [{ type: 'exit', id: STEP.gaveUp, reason: 'gave_up' }],
        },
      ],
    },
    {
      ...{ type: 'split', id: STEP.split },
      branches: [
        { weight: 50, steps: [email(STEP.one, 'D one')] },
        { weight: 50, steps: [email(STEP.two, 'D two')] },
      ],
    },
    ...news,
    {
      ...{ type: 'wait_for_event', id: STEP.paid, event_name: paidOf(seed), duration: PAID_SECONDS },
      ...{ yes: [], no: [] },
    },
    { type: 'event', id: STEP.done, event_name: doneOf(seed) },
  ];
}

/** What distinguishes contact `n`. */
export interface Kind {
  pro: boolean;
  patient: boolean;
  subscribed: boolean;
  /** Whether it is in its quiet hours until {@link CohortFlow.quietEnd}. */
  quiet: boolean;
}

export const kindOf = (n: number): Kind => ({
  pro: n % 2 === 0,
  patient: n % 5 !== 0,
  subscribed: n % 19 !== 2,
  quiet: n % 4 === 1,
});

/** What happens to a contact after it has entered. */
export interface Deed {
  n: number;
  /** In ms after its entry. */
  after: number;
  does: { event: string; data?: object } | 'leave' | 'delete';
}

const LATEST_MS = 15_000;

/** What happens to contact `n`. */
export function deedsOf(seed: number, n: number): Deed[] {
  const after = (what: string) => Math.floor(LATEST_MS * fractionOf(seed, `${what} ${n}`));
  const deeds: Deed[] = [];
  const order = (total: number, time: number) =>
    deeds.push({ n, after: time, does: { event: orderOf(seed), data: { total } } });
  if (n % 3 === 0) order(LEAST * 2, 0);
  if (n % 3 === 1) order(LEAST, after('order'));
  // An order that is too small ends no wait, even if it comes first.
  if (n % 3 > 0) order(LEAST - 1, Math.floor(after('order') / 2));
  if (n % 2 === 0) deeds.push({ n, after: 2 * after('paid'), does: { event: paidOf(seed) } });
  if (n % 11 === 3) deeds.push({ n, after: after('goal'), does: { event: goalOf(seed) } });
  if (n % 13 === 5) deeds.push({ n, after: after('leave'), does: 'leave' });
  if (n % 17 === 7) deeds.push({ n, after: after('delete'), does: 'delete' });
  return deeds;
}

export interface CohortFlow {
  seed: number;
  flowId: number;
  /** The list whose new contacts enter. */
  entryListId: number;
  /** The list to which the flow adds contacts. */
  listId: number;
  /** When the quiet hours of those contacts end that are in them. */
  quietEnd: Date;
  /** The ids of contacts 0, 1 … */
  contactIds: number[];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const hourOf = (time: number) => new Date(time).toISOString().slice(11, 16);

async function insertContacts(stage: CrashStage, seed: number, count: number): Promise<number[]> {
  const contacts = Array.from({ length: count }, (_, n) => {
    const { pro, patient, subscribed, quiet } = kindOf(n);
    const timezone = quiet ? 'UTC' : 'Asia/Kolkata';
    const data = { patient, timezone, ...(pro ? { plan: 'pro' } : {}) };
    return { email: `cohort${seed}-${n}@example.com`, subscribed, data };
  });
  const { rows } = await stage.database.pool.query<{ id: number }>(
    `insert into contacts (account_id, brand_id, email, email_key, email_subscribed, email_created_at,
       email_updated_at, data)
     select $1, (select id from brands where account_id = $1), c.email, c.email, c.subscribed, now(), now(), c.data
     from jsonb_to_recordset($2::jsonb) as c (email text, subscribed boolean, data jsonb)
     returning id`,
    [stage.accountId, JSON.stringify(contacts)],
  );
  await stage.database.pool.query('update accounts set has_contacts = true where id = $1', [stage.accountId]);
  return rows.map(({ id }) => id);
}

/**
 * Creates the flow, with a goal and exit filters, and activates it.
 * @param options.quietMs how long some contacts are in their quiet hours, at least
 */
export async function startCohortFlow(
  stage: CrashStage,
  seed: number,
  { count, quietMs }: { count: number; quietMs: number },
): Promise<CohortFlow> {
  const { pool } = stage.database;
  const quietEnd = Math.ceil((Date.now() + quietMs) / MINUTE_MS) * MINUTE_MS;
  await pool.query(
    `update brands set physical_address = '1 Main St', quiet_hours = $2, frequency_cap = $3 where account_id = $1`,
    [
      stage.accountId,
      JSON.stringify({
        start: hourOf(quietEnd - 2 * HOUR_MS),
        end: hourOf(quietEnd),
        timezone: 'contact',
      }),
      JSON.stringify({ count: CAP, per_seconds: 86_400 }),
    ],
  );
  const contactIds = await insertContacts(stage, seed, count);
  const idOf = async (path: string, body: object) =>
    (await askThroughOutages<{ id: number }>(stage, { path, body })).id;
  const entryListId = await idOf('/lists', { name: `Into cohorts ${seed}` });
  const listId = await idOf('/lists', { name: `Through cohorts ${seed}` });
  const flowId = await idOf('/flows', {
    name: `Cohorts ${seed}`,
    goal: goalOf(seed),
    trigger: { contact_list_id: entryListId, data: { exit_filters: is('data.leaves', true) } },
    steps: cohortSteps(seed, listId, urlOf(stage, seed)),
  });
  await askThroughOutages(stage, { path: `/flows/${flowId}/activate` });
  return { seed, flowId, entryListId, listId, quietEnd: new Date(quietEnd), contactIds };
}

/** The path of the webhook step's endpoint. */
export const hookOf = (seed: number) => `/cohort${seed}`;
const urlOf = (stage: CrashStage, seed: number) => stage.receiver.url(hookOf(seed), '127.0.0.1');

/** The response of the webhook step's endpoint. */
export const isEven = (contactId: number) => contactId % 2 === 0;

/** A request, with the times before the first attempt and after the response. */
export interface Asked {
  asked: Date;
  answered: Date;
}

export async function timed(request: () => Promise<unknown>): Promise<Asked> {
  const asked = new Date();
  await request();
  return { asked, answered: new Date() };
}

/** Moves the runs to a second version, with another email. */
export function changeCohortFlow(stage: CrashStage, { seed, flowId, listId }: CohortFlow): Promise<unknown> {
  const news = [{ type: 'email', subject: 'E news', body: '<p>E news</p>' }];
  const steps = cohortSteps(seed, listId, urlOf(stage, seed), news);
  return askThroughOutages(stage, {
    method: 'PATCH',
    path: `/flows/${flowId}`,
    body: { steps, apply_to: 'waiting' },
  });
}
