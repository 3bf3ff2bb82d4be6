/** Decides which entries of a flow start a run, in the transaction that inserts the runs. */
import { appendToOutbox } from '../../../platform/outbox/append.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { lockContacts } from '../../contact-events/service.ts';
import { fillPlaces, findPlaces } from '../cohorts/places.ts';
import { countForFlow, type FlowCountName } from '../counts.ts';
import type { FlowRow, Reentry } from '../model.ts';
import { firstRecord } from '../run/interpreter.ts';
import { registerGoals } from '../run/waits.ts';
import { flowRunStart } from '../workflow.ts';
import { namesTriggerValue, passingEntries } from './entry-filters.ts';

/**
 * How long after its insertion a run's workflow must have started, in minutes. The reconciler leaves runs alone whose
 * start still waits in the outbox. If the engine has lost its data, this is detected sooner, by other means.
 */
const EXPECTED_MINUTES = 10;

/** An entry to be judged. */
export interface Entry {
  id: number;
  contact_id: number;
  cause: string;
  event_id: number | null;
  /** The data of the event that caused it; null: no event did. */
  data: Readonly<Record<string, unknown>> | null;
  /** Whether it was caused by an automatic mail, which starts no flow unless its filters ask for it. */
  automatic: boolean;
  /** When the event occurred, or else when the entry was inserted. */
  since: Date;
  test: boolean;
}

/** The columns of a flow that decide about entries. */
export type JudgingFlow = Pick<
  FlowRow,
  'id' | 'account_id' | 'brand_id' | 'status' | 'approval_state' | 'version_id' | 'trigger_data'
> & { /** Of the version. */ goal: string | null };

/** A contact's previous runs through a flow. */
interface PastRuns {
  /** When the latest of them began. */
  last: Date;
  /** Whether one of them is still active. */
  active: boolean;
}

/** Why a contact may not enter again. */
type ReentryRefusal = 'already_entered' | 'too_soon' | 'in_flow';

/** Why an entry starts no run. `docs/flows.md` explains the reasons. */
export type EntryRefusal =
  ReentryRefusal | 'flow_paused' | 'flow_archived' | 'not_approved' | 'contact_deleted' | 'filters' | 'error';

/** The decisions by the id of the entry; null for entries that start a run. */
export type Verdicts = ReadonlyMap<number, EntryRefusal | null>;

/** Why no contact can enter the flow now; null if contacts can. */
function refuseAll({ status, approval_state: approval, version_id: versionId }: JudgingFlow) {
  if (status === 'archived') return 'flow_archived';
  if (status !== 'active') return 'flow_paused';
  const isApproved = approval === 'not_required' || approval === 'approved';
  return isApproved && versionId !== null ? null : 'not_approved';
}

/**
 * Finds contacts that exist, and locks them against deletion until the transaction ends, so that a deletion finds their
 * runs.
 */
async function existingContacts(trx: Queryable, brandId: number, ids: number[]): Promise<Set<number>> {
  const { rows } = await trx.query<{ id: number }>(
    'select id from contacts where brand_id = $1 and id = any($2) order by id for key share',
    [brandId, ids],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Test runs and live runs of a contact are counted separately. */
const runsKey = (contactId: number, test: boolean) => `${contactId}/${test}`;

async function runsSoFar(
  trx: Queryable,
  flowId: number,
  contactIds: number[],
): Promise<Map<string, PastRuns>> {
  const { rows } = await trx.query<PastRuns & { contact_id: number; test: boolean }>(
    `select contact_id, test, max(created_at) as last, bool_or(state = 'active') as active
     from flow_runs where flow_id = $1 and contact_id = any($2) group by contact_id, test`,
    [flowId, contactIds],
  );
  return new Map(rows.map(({ contact_id: id, test, last, active }) => [runsKey(id, test), { last, active }]));
}

/**
 * Decides whether a contact may enter a flow again. Only events may start concurrent runs, because each may mean
 * something different, such as an order.
 * @returns null if it may
 */
function refuseReentry(
  reentry: Reentry,
  runs: PastRuns,
  { byEvent, asOf }: { byEvent: boolean; asOf: Date },
): ReentryRefusal | null {
  if (reentry === 'once') return 'already_entered';
  if (reentry !== 'every_time') {
    const allowedAt = runs.last.getTime() + reentry.after_seconds * 1_000;
    if (asOf.getTime() < allowedAt) return 'too_soon';
  }
  return runs.active && !byEvent ? 'in_flow' : null;
}

/**
 * Evaluates the filters of the flow. It may take long, so call it before locking the flow or contacts. An entry by an
 * automatic mail passes only if a filter names `trigger.auto_submitted`.
 * @returns the entries that pass them
 * @throws AppError if they cannot be evaluated
 */
export async function passFilters(
  db: Queryable,
  flow: JudgingFlow,
  entries: readonly Entry[],
  asOf: Date,
): Promise<Set<number>> {
  if (refuseAll(flow)) return new Set();
  const { filters = [] } = flow.trigger_data;
  const open = entries.some(({ automatic }) => automatic) && !namesTriggerValue(filters, 'auto_submitted');
  const asking = open ? entries.filter(({ automatic }) => !automatic) : entries;
  return passingEntries(db, { brandId: flow.brand_id, asOf }, filters, asking);
}

/**
 * Judges entries of one flow, in order.
 * @param trx the only transaction that judges entries of the flow at the time
 * @param passing the entries that pass the filters
 */
export async function judgeEntries(
  trx: Queryable,
  flow: JudgingFlow,
  entries: readonly Entry[],
  { passing, asOf }: { passing: ReadonlySet<number>; asOf: Date },
): Promise<Verdicts> {
  const refusal = refuseAll(flow);
  if (refusal) return new Map(entries.map(({ id }) => [id, refusal]));
  const contactIds = [...new Set(entries.map((entry) => entry.contact_id))];
  const existing = await existingContacts(trx, flow.brand_id, contactIds);
  const { reentry = 'once' } = flow.trigger_data;
  const runs = await runsSoFar(trx, flow.id, [...existing]);
  const verdicts = new Map<number, EntryRefusal | null>();
  for (const { id, contact_id: contactId, event_id: eventId, test } of entries) {
    const before = runs.get(runsKey(contactId, test));
    let verdict: EntryRefusal | null = null;
    if (!existing.has(contactId)) verdict = 'contact_deleted';
    else if (!passing.has(id)) verdict = 'filters';
    else if (before) verdict = refuseReentry(reentry, before, { byEvent: eventId !== null, asOf });
    if (verdict === null) runs.set(runsKey(contactId, test), { last: asOf, active: true });
    verdicts.set(id, verdict);
  }
  return verdicts;
}

interface NewRun {
  id: number;
  contact_id: number;
  cause: string;
  test: boolean;
  cohort_id: number | null;
}

/** How the runs of a page of entries begin. */
interface Beginning {
  asOf: Date;
  /** Whether more entries wait than one page takes. */
  isBurst: boolean;
}

/** Number of contacts from which on a request counts as a bulk entry. */
const MIN_BULK = 10;

/**
 * Finds the entries whose runs share a clock: those by lists and segments, by requests with many contacts, and those
 * of a burst. A run by a single event or request has a workflow of its own, as has a test run, because people look at
 * these.
 */
function sharingEntries(entries: readonly Entry[], isBurst: boolean): Entry[] {
  const sizes = new Map<string, number>();
  for (const { cause } of entries) sizes.set(cause, (sizes.get(cause) ?? 0) + 1);
  const isBulk = (cause: string) => cause.startsWith('m') && (sizes.get(cause) ?? 0) >= MIN_BULK;
  return entries.filter(({ cause, test }) => !test && (isBurst || /^[ls]/.test(cause) || isBulk(cause)));
}

/**
 * Inserts the runs of entries, in order. A cause that already has a run does not start another one.
 * @param cohorts the ids of cohorts by the ids of entries; other runs have workflows of their own
 */
async function insertRuns(
  trx: Queryable,
  flow: JudgingFlow,
  entries: readonly Entry[],
  cohorts: ReadonlyMap<number, number>,
): Promise<NewRun[]> {
  const { rows } = await trx.query<NewRun>(
    `insert into flow_runs (account_id, brand_id, flow_id, version_id, contact_id, cause, event, test, chain_depth,
       record, cohort_id, engine_expected_by)
     select e.account_id, e.brand_id, e.flow_id, $1, e.contact_id, e.cause, e.event, e.test, e.chain_depth, i.record,
       i.cohort_id, case when i.cohort_id is null then now() + make_interval(mins => $3) end
     from jsonb_to_recordset($2::jsonb) as i (id bigint, record jsonb, cohort_id bigint)
     join flow_entries e using (id) order by e.id
     on conflict (flow_id, contact_id, cause) do nothing
     returning id, contact_id, cause, test, cohort_id`,
    [
      flow.version_id,
      JSON.stringify(
        entries.map(({ id, since }) => ({
          id,
          record: firstRecord(since),
          cohort_id: cohorts.get(id) ?? null,
        })),
      ),
      EXPECTED_MINUTES,
    ],
  );
  return rows;
}

/** Registers that runs wait for the goal of their flow. The contacts must be locked. */
async function awaitGoal(
  trx: Queryable,
  { brand_id: brandId }: JudgingFlow,
  goal: string,
  { runs, entries }: { runs: readonly NewRun[]; entries: readonly Entry[] },
): Promise<void> {
  const entryOf = new Map(entries.map((entry) => [`${entry.contact_id}/${entry.cause}`, entry]));
  const withGoals = runs.map(({ id, contact_id: contactId, cause, test }) => {
    const { since, event_id: causeId } = entryOf.get(`${contactId}/${cause}`) as Entry;
    return { id, brandId, contactId, test, goal, since, causeId };
  });
  await registerGoals(trx, withGoals);
}

/**
 * Inserts the runs of entries, and requests their workflows from the engine.
 * @returns how many live runs began
 */
async function beginRuns(
  trx: Queryable,
  flow: JudgingFlow,
  entries: readonly Entry[],
  { asOf, isBurst }: Beginning,
): Promise<number> {
  const { goal } = flow;
  const sharing = sharingEntries(entries, isBurst);
  const places = await findPlaces(trx, flow, sharing.length, asOf);
  const cohorts = new Map(places.map((cohort, n) => [(sharing[n] as Entry).id, cohort.id]));
  // Events wait for these locks, so nothing slow may happen between here and the commit.
  if (goal !== null) {
    await lockContacts(trx, [...new Set(entries.map((entry) => entry.contact_id))], 'exclusive');
  }
  const runs = await insertRuns(trx, flow, entries, cohorts);
  if (goal !== null) await awaitGoal(trx, flow, goal, { runs, entries });
  if (places.length > 0) await fillPlaces(trx, places, runs);
  const of = { accountId: flow.account_id, brandId: flow.brand_id, flow_id: flow.id };
  const alone = runs.filter(({ cohort_id: cohortId }) => cohortId === null);
  const starts = alone.map((run) => ({ kind: 'start' as const, ...flowRunStart({ ...run, ...of }) }));
  await appendToOutbox(trx, starts, 2);
  return runs.filter(({ test }) => !test).length;
}

/**
 * Starts the runs of the entries that may enter, counts all entries, and deletes them.
 * @returns whether a run began
 */
export async function carryOut(
  trx: Queryable,
  flow: JudgingFlow,
  entries: readonly Entry[],
  { verdicts, ...beginning }: Beginning & { verdicts: Verdicts },
): Promise<boolean> {
  const entering = entries.filter(({ id }) => verdicts.get(id) === null);
  const counts = new Map<FlowCountName, number>();
  for (const { id, test } of entries) {
    const refusal = verdicts.get(id);
    if (test || !refusal) continue;
    counts.set(`not_entered:${refusal}`, (counts.get(`not_entered:${refusal}`) ?? 0) + 1);
  }
  if (entering.length > 0) counts.set('entered', await beginRuns(trx, flow, entering, beginning));
  await countForFlow(
    trx,
    [...counts].filter(([, n]) => n > 0).map(([name, n]) => ({ flowId: flow.id, name, n })),
  );
  await trx.query('delete from flow_entries where id = any($1)', [entries.map(({ id }) => id)]);
  return entering.length > 0;
}
