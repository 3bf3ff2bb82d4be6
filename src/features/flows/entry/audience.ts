/**
 * Compares contacts with the segment of a flow, for the workflow `flow-audience/<flow>`. Contacts who begin to match enter.
 * All contacts are compared at least every ten minutes, because time alone may make them match; contacts who changed,
 * and those with new events, opens and clicks, each minute.
 */
import type pg from 'pg';
import type { FlowAudienceStep } from '../../../../workflows/flows/contract.ts';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import { isStatementTimeout } from '../../../platform/db/statement-limit.ts';
import type { HeavyReads } from '../../../platform/processes/heavy-reads.ts';
import { segmentCondition } from '../../segments/index.ts';
import { type AudienceTask, confirmTask, nextTask } from './audience-state.ts';
import { activeContacts, forgetCandidates, notedCandidates, partsOf } from './candidates.ts';
import { addMatches, ENTRIES_CHANNEL } from './entries.ts';
import { storeMembers } from './members.ts';

/** Number of contacts compared by one statement; it shrinks if the statement takes too long. */
const PAGE = 10_000;
const MIN_PAGE = 100;
/** How long a workflow may be overdue before the reconciler checks it, in ms. */
const OVERDUE_MS = 2 * 60_000;

/** How long an activity may run, and the signal that ends it earlier. */
export interface AudienceStay {
  forMs: number;
  signal: AbortSignal;
}

export interface FlowAudienceDeps {
  pool: pg.Pool;
  heavyReads: HeavyReads;
  waker: Pick<Waker, 'wake'>;
}

type Comparison = Extract<AudienceTask, { do: 'compare' }>;
type Look = Extract<AudienceTask, { do: 'look' }>;

/** What one activity has done. */
interface Tally {
  compared: number;
  entered: number;
}

const comparisonOf = ({ account_id: accountId }: Comparison['flow']) => ({
  accountId,
  what: 'comparisons of audiences',
});

/**
 * Finds contacts of a brand that match, among those selected by `where`: SQL over `c`, with parameters from `$2` on.
 */
async function matching(
  db: Queryable,
  flow: Comparison['flow'],
  asOf: Date,
  where: string,
  values: readonly unknown[],
  extent: { few: true } | { paged: true },
): Promise<number[]> {
  const audience = { brandId: flow.brand_id, asOf, ...extent };
  const condition = await segmentCondition(db, audience, flow.segment_id, values.length + 2);
  const { rows } = await db.query<{ id: number }>(
    `select c.id from contacts c where c.brand_id = $1 and ${where} and ${condition.sql}`,
    [flow.brand_id, ...values, ...condition.values],
  );
  return rows.map(({ id }) => id);
}

/** Finds the last contact of the next page; null if no contact is left. */
async function endOfPage(db: Queryable, { flow, state }: Comparison, size: number): Promise<number | null> {
  const { rows } = await db.query<{ last: number | null }>(
    `select max(id) as last from (
       select id from contacts where brand_id = $1 and id > $2 order by id limit $3) page`,
    [flow.brand_id, state.cursor, size],
  );
  return rows[0]?.last ?? null;
}

/** In the first comparison, only contacts created since the flow opened enter. */
async function createdSince(trx: Queryable, ids: readonly number[], since: Date): Promise<number[]> {
  const { rows } = await trx.query<{ id: number }>(
    'select id from contacts where id = any($1) and created_at >= $2',
    [ids, since],
  );
  return rows.map(({ id }) => id);
}

async function finishComparison(trx: Queryable, { flow, state }: Comparison): Promise<void> {
  await trx.query('delete from flow_segment_members where flow_id = $1 and contact_id > $2', [
    flow.id,
    state.cursor,
  ]);
  await trx.query(
    `update flow_audiences set compared_at = comparing_since, comparing_since = null, remembers = false,
       enters_existing = false, seen_at = coalesce(seen_at, now())
     where flow_id = $1`,
    [flow.id],
  );
  await trx.query('update flows set audience_seen_at = $2 where id = $1', [flow.id, state.comparing_since]);
}

/** Compares one page of all contacts. @returns null if another activity was faster */
async function comparePage(
  { pool, heavyReads }: FlowAudienceDeps,
  task: Comparison,
  asOf: Date,
  size: number,
): Promise<Tally | null> {
  const { flow, state } = task;
  const last = await endOfPage(pool, task, size);
  const range = [state.cursor, last];
  const found =
    last === null
      ? []
      : await heavyReads.run(comparisonOf(flow), (db) =>
          matching(db, flow, asOf, 'c.id > $2 and c.id <= $3', range, { paged: true }),
        );
  return inTransaction(pool, async (trx) => {
    const confirmed = await confirmTask(trx, task);
    if (!confirmed) return null;
    if (last === null) {
      await finishComparison(trx, task);
      return { compared: 0, entered: 0 };
    }
    const where = 'm.contact_id > $3 and m.contact_id <= $4';
    const began = await storeMembers(trx, flow.id, { matching: found, where, values: range });
    const { enters_existing: entersExisting, remembers } = confirmed;
    const since = confirmed.opened_at ?? state.comparing_since ?? asOf;
    const entering = entersExisting ? found : remembers ? await createdSince(trx, began, since) : began;
    await addMatches(trx, flow, entering);
    await trx.query('update flow_audiences set cursor = $2 where flow_id = $1', [flow.id, last]);
    return { compared: found.length, entered: entering.length };
  });
}

/** One execution of the activity: its clock, its end and its counts. */
interface Turn {
  /** The workflow's time. */
  asOf(): Date;
  isOver(): boolean;
  add(tally: Tally): void;
}

/** Compares all contacts, page by page, until the activity must end. */
async function compareAll(deps: FlowAudienceDeps, task: Comparison, turn: Turn): Promise<void> {
  let size = PAGE;
  let current = task;
  while (!turn.isOver()) {
    try {
      const tally = await comparePage(deps, current, turn.asOf(), size);
      if (tally) turn.add(tally);
    } catch (error) {
      if (!isStatementTimeout(error) || size === MIN_PAGE) throw error;
      size = Math.max(MIN_PAGE, Math.floor(size / 4));
      continue;
    }
    const next = await inTransaction(deps.pool, (trx) =>
      nextTask(trx, task.flow.id, turn.asOf(), turn.asOf()),
    );
    if (next?.do !== 'compare') return;
    current = next;
  }
}

/** Compares some contacts. @returns false if another activity was faster */
async function compareSome(
  { pool, heavyReads }: FlowAudienceDeps,
  task: Look,
  ids: readonly number[],
  turn: Turn,
  follow: (trx: Queryable) => Promise<void> = () => Promise.resolve(),
): Promise<boolean> {
  const { flow } = task;
  const found = await heavyReads.run(comparisonOf(flow), (db) =>
    matching(db, flow, turn.asOf(), 'c.id = any($2)', [ids], { few: true }),
  );
  return inTransaction(pool, async (trx) => {
    if (!(await confirmTask(trx, task))) return false;
    const where = 'm.contact_id = any($3::bigint[])';
    const began = await storeMembers(trx, flow.id, { matching: found, where, values: [ids] });
    await addMatches(trx, flow, began);
    await follow(trx);
    turn.add({ compared: ids.length, entered: began.length });
    return true;
  });
}

/** Compares contacts that have changed, and those with new events, sends, opens or clicks. */
async function lookAtChanged(deps: FlowAudienceDeps, task: Look, turn: Turn): Promise<void> {
  const { pool, heavyReads } = deps;
  const { flow, state } = task;
  for (let isLast = false; !isLast && !turn.isOver();) {
    const noted = await notedCandidates(pool, flow.id);
    ({ isLast } = noted);
    if (noted.rowIds.length === 0) break;
    const forget = (trx: Queryable) => forgetCandidates(trx, noted.rowIds);
    if (!(await compareSome(deps, task, noted.contactIds, turn, forget))) return;
  }
  const { contactIds, until } = await heavyReads.run(comparisonOf(flow), (db) =>
    activeContacts(db, flow, state.seen_at),
  );
  for (const ids of partsOf(contactIds ?? [])) {
    if (turn.isOver() || !(await compareSome(deps, task, ids, turn))) return;
  }
  // If too many were active, a comparison of all contacts is due at once.
  const due = contactIds === null ? ', compared_at = null' : '';
  await pool.query(`update flow_audiences set seen_at = $2 ${due} where flow_id = $1`, [flow.id, until]);
}

function turnOf(asOf: Date, { forMs, signal }: AudienceStay) {
  const began = performance.now();
  const elapsed = () => performance.now() - began;
  const tally: Tally = { compared: 0, entered: 0 };
  const sentence = () => `compared ${tally.compared} contacts, of whom ${tally.entered} enter`;
  const turn: Turn = {
    asOf: () => new Date(asOf.getTime() + elapsed()),
    isOver: () => signal.aborted || elapsed() >= forMs,
    add({ compared, entered }) {
      tally.compared += compared;
      tally.entered += entered;
    },
  };
  return { turn, tally, sentence };
}

/** The work of the workflow `flow-audience/<flow>`. */
export interface FlowAudience {
  /** Does the comparisons that are due for a flow. @throws if it takes too long, or the database is unavailable */
  match(flowId: number, asOf: Date, stay: AudienceStay): Promise<FlowAudienceStep>;
}

/** Records for the reconciler when the workflow must have acted again, or that it is not needed. */
async function expect(db: Queryable, flowId: number, until: Date | null): Promise<void> {
  await db.query(
    `update flows set engine_expected_by = $2
     where id = $1 and ($2::timestamptz is not null) =
       (status = 'active' and approval_state in ('not_required', 'approved') and segment_id is not null)`,
    [flowId, until && new Date(until.getTime() + OVERDUE_MS)],
  );
}

export function createFlowAudience(deps: FlowAudienceDeps): FlowAudience {
  const { pool, waker } = deps;
  const next = (flowId: number, asOf: Date, last: Date | null) =>
    inTransaction(pool, (trx) => nextTask(trx, flowId, asOf, last));
  return {
    async match(flowId, asOf, stay) {
      const { turn, tally, sentence } = turnOf(asOf, stay);
      await expect(pool, flowId, new Date(asOf.getTime() + stay.forMs));
      let last: Date | null = null;
      try {
        for (;;) {
          const task = await next(flowId, turn.asOf(), last);
          if (!task) {
            await expect(pool, flowId, null);
            return { next: 'done', until: null, sentence: 'the flow takes no contacts by a segment' };
          }
          if (task.do === 'wait') {
            await expect(pool, flowId, task.until);
            return { next: 'wait', until: task.until.toISOString(), sentence: sentence() };
          }
          if (turn.isOver()) return { next: 'again', until: null, sentence: sentence() };
          if (task.do === 'compare') await compareAll(deps, task, turn);
          else await lookAtChanged(deps, task, turn);
          last = turn.asOf();
        }
      } finally {
        if (tally.entered > 0) waker.wake(ENTRIES_CHANNEL);
      }
    },
  };
}
