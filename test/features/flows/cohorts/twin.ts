/**
 * Two databases with the same flows, contacts and ids. In one, runs have clocks of their own; in the other, those of a
 * flow share one. Time is virtual, and no engine runs.
 */
import type pg from 'pg';
import { type FlowCohorts, createFlowCohorts } from '../../../../src/features/flows/cohorts/cohorts.ts';
import { advanceRun, type AdvanceDeps } from '../../../../src/features/flows/run/advance.ts';
import { changePage } from '../../../../src/features/flows/run/changes.ts';
import { createFlowRuns, type FlowRuns } from '../../../../src/features/flows/run/runs.ts';
import { allSteps, type Step } from '../../../../src/features/flows/steps/index.ts';
import { pauseFlow, resumeFlow } from '../../../../src/features/flows/transitions.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { createResolver } from '../../../../src/platform/dns/resolver.ts';
import { createEgress, type Egress } from '../../../../src/platform/egress/client.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertCohort } from '../../../support/flow-cohorts.ts';
import { createTestTracker, insertFlow, insertRun, type TestFlow } from '../../../support/flow-runs.ts';
import type { Receiver } from '../../../support/https-receiver.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';
import { testKeyring } from '../../../support/webhooks.ts';
import type { Scenario } from '../run/random-flows.ts';
import { testAdvanceDeps } from './advance-deps.ts';

const HOUR_MS = 3_600_000;
/** The time between moments at which contacts do something. */
const DEEDS_MS = 4 * HOUR_MS;

/** A flow, and what is different for each of its contacts. */
export interface Plan {
  flow: Scenario;
  goal: boolean;
  contacts: readonly Scenario[];
  /** When the flow is paused and resumed, in ms after the entries. */
  pause: readonly [number, number] | null;
}

interface Deed {
  /** In ms after the entries. */
  after: number;
  does: () => Promise<unknown>;
}

interface PlannedFlow extends TestFlow {
  account: QueuedAccount;
  contactIds: number[];
  plan: Plan;
}

/** The time of day when the hours after a time have passed, in UTC. */
const clockAt = (time: Date, hours: number) =>
  new Date(time.getTime() + hours * HOUR_MS).toISOString().slice(11, 16);

/**
 * Makes the steps of a scenario fit: each wait is longer than the test, because events happen in real time; the lists
 * are those of the plan; and the endpoint is that of the test.
 */
function fittingSteps({ steps }: Scenario, place: number, url: string, began: Date): Step[] {
  const text = JSON.stringify(steps, (key, value: unknown) => {
    if (key === 'duration') return Math.max(3_600, value as number);
    if (key === 'time') return clockAt(began, 5);
    if (key === 'url') return url;
    if (key === 'list_id') return 10 * place + (value as number);
    return value;
  });
  // Filters name lists, too.
  const withLists = text.replaceAll(
    /"name":"list","predicate":"(\w+)","value":\[([\d,]+)\]/g,
    (_, predicate: string, ids: string) =>
      `"name":"list","predicate":"${predicate}","value":[${ids
        .split(',')
        .map((id) => 10 * place + Number(id))
        .join()}]`,
  );
  return JSON.parse(withLists) as Step[];
}

export class Twin {
  readonly db: TestDatabase;
  private readonly deps: AdvanceDeps;
  private readonly egress: Egress;
  private readonly runs: FlowRuns;
  private readonly cohorts: FlowCohorts;
  private readonly receiver: Receiver;
  private readonly shared: boolean;
  private flows: PlannedFlow[] = [];

  private constructor(db: TestDatabase, receiver: Receiver, shared: boolean) {
    this.db = db;
    this.receiver = receiver;
    this.shared = shared;
    this.deps = testAdvanceDeps(db.database.pool);
    const resolver = createResolver([]);
    this.egress = createEgress({ resolver, allow: ['127.0.0.0/8'], userAgent: 'test' });
    this.runs = createFlowRuns({ ...this.deps, keyring: testKeyring, egress: this.egress });
    this.cohorts = createFlowCohorts(this.deps);
  }

  /** @param shared whether runs share clocks */
  static async open(receiver: Receiver, shared: boolean): Promise<Twin> {
    return new Twin(await createTestDatabase({ poolMax: 10 }), receiver, shared);
  }

  get pool(): pg.Pool {
    return this.db.database.pool;
  }

  /** Creates flows and contacts, whose earlier events happen now. */
  async prepare(plans: readonly Plan[], began: Date): Promise<void> {
    for (const [place, plan] of plans.entries()) this.flows.push(await this.prepareOne(plan, place, began));
  }

  private async prepareOne(plan: Plan, place: number, began: Date): Promise<PlannedFlow> {
    const { pool } = this;
    const account = await insertAccount(this.db.database);
    const quiet = plan.flow.quiet
      ? { start: clockAt(began, 10), end: clockAt(began, 20), timezone: 'UTC' }
      : null;
    await pool.query(`update brands set quiet_hours = $2, frequency_cap = $3 where id = $1`, [
      account.brandId,
      quiet && JSON.stringify(quiet),
      place % 2 ? JSON.stringify({ count: 2, per_seconds: 86_400 }) : null,
    ]);
    await pool.query(
      `insert into lists (id, account_id, brand_id, name) select 10 * $3::int + n, $1, $2, 'List ' || n
       from generate_series(1, 3) n`,
      [account.accountId, account.brandId, place],
    );
    const steps = fittingSteps(plan.flow, place, this.receiver.url('/', '127.0.0.1'), began);
    const exitFilters = JSON.parse(JSON.stringify(plan.flow.exitFilters)) as unknown[];
    const flow = await insertFlow(pool, account, {
      ...{ steps, exitFilters },
      ...(plan.goal ? { goal: 'left' } : {}),
    });
    await this.insertContents(account, flow.id, steps);
    const contactIds = await this.insertContacts(account, plan, place);
    const before = plan.contacts.flatMap(({ events }, n) => events.map((event) => ({ ...event, n })));
    const track = createTestTracker(pool, account);
    for (const { name, after, data, n } of before) {
      if (after < 0) await track([{ contactId: contactIds[n] as number, event: name, data }]);
    }
    return { ...flow, account, contactIds, plan };
  }

  private async insertContents(
    { accountId, brandId }: QueuedAccount,
    flowId: number,
    steps: readonly Step[],
  ): Promise<void> {
    const sending = allSteps(steps).filter(({ type }) => type === 'email' || type === 'sms');
    await this.pool.query(
      `with step as (select * from jsonb_to_recordset($4::jsonb) as s (id integer, type text)),
       template as (
         insert into templates (account_id, brand_id, channel, name, flow_id, action_id)
         select $1, $2, type, 'Hi', $3, id from step order by id returning id, channel, action_id),
       version as (
         insert into template_versions (template_id, account_id, brand_id, channel, content_hash, subject, html, text,
           paths)
         select id, $1, $2, channel, decode(md5(id::text), 'hex'), case channel when 'email' then 'Hi' end,
           case channel when 'email' then '<p>Hi</p>' end, 'Hi', '{}' from template returning id, template_id)
       insert into flow_contents select $3, t.action_id, t.id, v.id from template t join version v on v.template_id = t.id`,
      [accountId, brandId, flowId, JSON.stringify(sending.map(({ id, type }) => ({ id, type })))],
    );
  }

  private async insertContacts({ accountId, brandId }: QueuedAccount, plan: Plan, place: number) {
    const contacts = plan.contacts.map(({ data, timezone, sends, lists }, n) => ({
      email: sends === 'no_address' ? null : `${place}-${n}@example.com`,
      subscribed: sends === 'sent',
      data: { ...data, timezone },
      lists: lists.map((id) => 10 * place + id),
    }));
    await this.pool.query('update accounts set has_contacts = true where id = $1', [accountId]);
    const { rows } = await this.pool.query<{ id: number }>(
      `insert into contacts (account_id, brand_id, email, email_key, email_subscribed, email_created_at, data)
       select $1, $2, c.email, c.email, c.email is not null and c.subscribed, case when c.email is not null then now() end,
         c.data
       from jsonb_to_recordset($3::jsonb) as c (email text, subscribed boolean, data jsonb) returning id`,
      [accountId, brandId, JSON.stringify(contacts)],
    );
    const ids = rows.map(({ id }) => id);
    await this.pool.query(
      `insert into list_members (list_id, contact_id)
       select l.list_id, l.contact_id from jsonb_to_recordset($1::jsonb) as l (list_id bigint, contact_id bigint)`,
      [
        JSON.stringify(
          contacts.flatMap(({ lists }, n) => lists.map((id) => ({ list_id: id, contact_id: ids[n] }))),
        ),
      ],
    );
    return ids;
  }

  /** Lets all contacts enter, at a time between the test's beginning and now. */
  private async enter(begun: Date): Promise<void> {
    for (const { account, contactIds, plan, ...flow } of this.flows) {
      for (const isEvent of [false, true]) {
        const of = contactIds.flatMap((id, n) => (n % 2 === Number(isEvent) ? [{ id, n }] : []));
        if (!isEvent && this.shared) {
          const ids = of.map(({ id }) => id);
          await insertCohort(this.pool, account, flow, ids, { asOf: begun });
          continue;
        }
        const cohort = this.shared ? await insertCohort(this.pool, account, flow, [], {}) : null;
        for (const { id, n } of of) {
          const data = plan.contacts[n]?.trigger ?? {};
          const event = { id: 1_000_000 + id, name: 'began', data, created_at: begun.toISOString() };
          await insertRun(this.pool, account, flow, id, {
            ...{ asOf: begun },
            ...(isEvent ? { event } : {}),
            ...(cohort ? { cohortId: cohort.id } : {}),
          });
        }
      }
    }
  }

  private deeds(): Deed[] {
    const deeds = this.flows.flatMap((flow) => {
      const track = createTestTracker(this.pool, flow.account);
      const { plan, contactIds } = flow;
      const events = plan.contacts.flatMap(({ events: all }, n): Deed[] =>
        all
          .filter(({ after }) => after >= 0)
          .map(({ after, name, data }) => ({
            // Few moments, at each of which many things happen.
            after: Math.ceil(after / DEEDS_MS) * DEEDS_MS,
            does: () => track([{ contactId: contactIds[n] as number, event: name, data }]),
          })),
      );
      if (!plan.pause) return events;
      const [from, to] = plan.pause;
      return [
        ...events,
        { after: from, does: () => inTransaction(this.pool, (trx) => pauseFlow(trx, flow)) },
        { after: to, does: () => this.resume(flow) },
      ];
    });
    return deeds.sort((one, other) => one.after - other.after);
  }

  private async resume(flow: PlannedFlow): Promise<void> {
    await inTransaction(this.pool, (trx) => resumeFlow(trx, flow, {}));
    const { pool, deps } = this;
    // The database's clock may be a fraction of a millisecond ahead of this process.
    const asOf = new Date(Date.now() + 60_000);
    while (await changePage({ ...deps, pool }, asOf));
  }

  private async advanceSingle(id: number, at: Date): Promise<void> {
    for (;;) {
      const step = await advanceRun(this.deps, id, at);
      if (step.next === 'call') await this.runs.callWebhook(id, step.stepId, at);
      else if (step.next === 'later') throw new Error(step.sentence);
      else if (step.next !== 'again') return;
    }
  }

  /** The clocks that have something to do: the ids of runs or cohorts. */
  private async awake(at: Date): Promise<number[]> {
    const { rows } = await this.pool.query<{ id: number }>(
      `select distinct ${this.shared ? 'r.cohort_id' : 'r.id'} as id from flow_runs r join flows f on f.id = r.flow_id
       where r.state = 'active' and (r.waits_for is null or r.due_at <= $1 or r.waits_for = 'webhook'
         or r.waits_for = 'resume' and f.status = 'active'
         or exists (select 1 from flow_arrivals a where a.run_id = r.id))
       order by 1`,
      [at],
    );
    return rows.map(({ id }) => id);
  }

  private async advanceCohort(id: number, at: Date): Promise<void> {
    for (;;) {
      const step = await this.cohorts.advance(id, { asOf: at, stayMs: 60_000 });
      if (step.next === 'later') throw new Error(step.sentence);
      if (step.callsDue) {
        const stopping = new AbortController().signal;
        await this.runs.callCohort(id, at, { stopping, onProgress: () => undefined });
      } else if (step.next !== 'again') {
        return;
      }
    }
  }

  private async advance(at: Date): Promise<void> {
    for (const id of await this.awake(at)) {
      await (this.shared ? this.advanceCohort(id, at) : this.advanceSingle(id, at));
    }
  }

  /** When the next active run is due; null if none is. */
  private async nextDue(): Promise<Date | null> {
    const { rows } = await this.pool.query<{ at: Date | null }>(
      `select min(due_at) as at from flow_runs where state = 'active'`,
    );
    return rows[0]?.at ?? null;
  }

  /** Takes all runs to their ends. @param begun when they enter */
  async run(begun: Date): Promise<void> {
    await this.enter(begun);
    const deeds = this.deeds();
    await this.advance(begun);
    for (let last: Date | null = null; ;) {
      const due = await this.nextDue();
      if (due && due.getTime() === last?.getTime())
        throw new Error(`a run due at ${due.toISOString()} is not taken`);
      const deed = deeds[0] && new Date(begun.getTime() + deeds[0].after);
      const at = due && (!deed || due < deed) ? due : deed;
      if (!at) return;
      last = at === due ? due : null;
      for (; deeds[0] && begun.getTime() + deeds[0].after <= at.getTime(); deeds.shift())
        await deeds[0].does();
      await this.advance(at);
    }
  }

  /** All that the runs did, without the ids of what they wrote. */
  async results(): Promise<Record<string, unknown[]>> {
    const rowsOf = async (sql: string) => (await this.pool.query<Record<string, unknown>>(sql)).rows;
    return {
      runs: await rowsOf(`select id, contact_id, state, reason, record, waits_for, due_at, step_id, moved, ended_at
        from flow_runs order by id`),
      path: await rowsOf(`select run_id, n, step_id, iteration, type, outcome, detail, entered_at, left_at,
          message_id is null as silent, event_id is null as quiet from flow_run_steps order by run_id, n, iteration`),
      messages:
        await rowsOf(`select flow_run_id, flow_step_id, contact_id, channel, to_address, status, template_id
        from messages order by flow_run_id, flow_step_id`),
      contacts: await rowsOf('select id, data, email_subscribed from contacts order by id'),
      members: await rowsOf('select list_id, contact_id from list_members order by 1, 2'),
      events: await rowsOf(`select e.contact_id, n.name, e.data, e.generated, e.chain_depth
        from contact_events e join event_names n on n.id = e.name_id order by 1, 2, 3, 4`),
      counts: await rowsOf(`select flow_id, step_id, name, sum(change)::int as n from flow_count_changes
        group by 1, 2, 3 order by 1, 2, 3`),
      waits: await rowsOf(`select w.run_id, w.step_id from flow_waits w order by 1, 2`),
      arrivals: await rowsOf(`select a.run_id, a.step_id from flow_arrivals a order by 1, 2`),
    };
  }

  async close(): Promise<void> {
    await this.egress.close();
    await this.db.drop();
  }
}
