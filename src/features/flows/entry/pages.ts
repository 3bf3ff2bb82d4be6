/** Judges the entries of a flow in pages. */
import type pg from 'pg';
import type { Logger } from 'pino';
import { AppError } from '../../../errors.ts';
import { inTransaction, isConnectionError, type Queryable } from '../../../platform/db/queryable.ts';
import { isStatementTimeout } from '../../../platform/db/statement-limit.ts';
import { countForFlow } from '../counts.ts';
import { carryOut, type Entry, judgeEntries, type JudgingFlow, passFilters } from './judge.ts';

/** Number of entries judged by one transaction. The runs of their contacts may be locked until it commits. */
const PAGE = 100;
/** The same if more than a page are due. Their runs share clocks, so that beginning them costs less. */
const BURST_PAGE = 500;
/** Statement time-out, in ms. A page that exceeds it is judged again later, in smaller parts. */
const STATEMENT_MS = 10_000;
/** The class of the advisory locks of flows whose entries are being judged: any number that no other lock uses. */
const FLOW_LOCK = 1_409_044;
/** Maximum number of attempts to judge an entry. The backoff doubles from 1 s to 64 s: about two minutes in all. */
const MAX_ATTEMPTS = 8;

const DEADLOCK = '40P01';

/** The result of judging a page. */
export interface PageResult {
  /** Whether another process is judging entries of the flow. */
  busy: boolean;
  began: boolean;
}

const NOTHING: PageResult = { busy: false, began: false };

export interface PagesDeps {
  pool: pg.Pool;
  log: Logger;
  clock?: () => Date;
}

/** @param lock `for share` prevents a pause until the transaction ends, so that no contact enters after the pause */
async function findFlow(
  trx: Queryable,
  id: number,
  lock: '' | 'for share of f',
): Promise<JudgingFlow | null> {
  const { rows } = await trx.query<JudgingFlow>(
    `select f.id, f.account_id, f.brand_id, f.status, f.approval_state, f.version_id, f.trigger_data,
       (select v.goal from flow_versions v where v.id = f.version_id) as goal
     from flows f where f.id = $1 ${lock}`,
    [id],
  );
  return rows[0] ?? null;
}

const isDue = '(retry_at is null or retry_at <= now())';

/** The ids of entries of a page. */
interface Taken {
  /** All that were read. */
  due: number[];
  /** Those that are judged now. */
  ids: number[];
  /** Whether more are due than one page takes. */
  isBurst: boolean;
}

/** Entries to be judged, in order. */
type Part = Pick<Taken, 'ids' | 'isBurst'>;

/**
 * Reads entries. After failed attempts, fewer are judged at once, because one of them may have taken too long.
 * @param part of a page; null for the oldest that are due
 * @param taken receives the ids of the entries
 */
async function findEntries(
  trx: Queryable,
  flowId: number,
  part: Part | null,
  taken: Taken,
): Promise<Entry[]> {
  const which = part ? 'id = any($2)' : isDue;
  const { rows } = await trx.query<Entry & { attempt_count: number }>(
    `select id, contact_id, cause, (event->>'id')::bigint as event_id, event->'data' as data, test,
       event->>'name' = 'email_received' and (event->'mail'->>'auto_submitted')::boolean is true as automatic,
       coalesce((event->>'created_at')::timestamptz, created_at) as since, attempt_count
     from flow_entries where flow_id = $1 and ${which} order by id limit ${BURST_PAGE}`,
    part ? [flowId, part.ids] : [flowId],
  );
  const isBurst = part?.isBurst ?? rows.length > PAGE;
  const attempts = part ? 0 : (rows[0]?.attempt_count ?? 0);
  const most = isBurst && attempts === 0 ? BURST_PAGE : PAGE;
  const size = Math.max(1, Math.floor(most / 4 ** attempts));
  const entries = rows.slice(0, size);
  taken.due.push(...rows.map(({ id }) => id));
  taken.ids.push(...entries.map(({ id }) => id));
  taken.isBurst = isBurst;
  return entries;
}

/**
 * Judges a page in one transaction. If the flow is changed while its filters are evaluated, the page is left for the
 * next call.
 * @param taken receives the ids of the entries, even if the transaction fails
 */
function takePage(
  { pool, clock = () => new Date() }: PagesDeps,
  flowId: number,
  part: Part | null,
  taken: Taken,
): Promise<PageResult> {
  return inTransaction(pool, async (trx) => {
    const { rows } = await trx.query<{ locked: boolean }>(
      `select pg_try_advisory_xact_lock($1, $2) as locked, set_config('statement_timeout', $3, true)`,
      [FLOW_LOCK, flowId % 2 ** 31, `${STATEMENT_MS}`],
    );
    if (!rows[0]?.locked) return { busy: true, began: false };
    const entries = await findEntries(trx, flowId, part, taken);
    if (entries.length === 0) return NOTHING;
    const flow = await findFlow(trx, flowId, '');
    if (!flow) {
      // The brand has been deleted.
      await trx.query('delete from flow_entries where flow_id = $1', [flowId]);
      return NOTHING;
    }
    const asOf = clock();
    const passing = await passFilters(trx, flow, entries, asOf);
    const locked = await findFlow(trx, flowId, 'for share of f');
    if (JSON.stringify(locked) !== JSON.stringify(flow)) return NOTHING;
    const verdicts = await judgeEntries(trx, flow, entries, { passing, asOf });
    const beginning = { verdicts, isBurst: taken.isBurst, asOf };
    return { busy: false, began: await carryOut(trx, flow, entries, beginning) };
  });
}

/** Schedules another attempt for entries. After the last attempt, an entry is counted as not entered, and deleted. */
function postpone({ pool }: PagesDeps, flowId: number, ids: readonly number[]): Promise<void> {
  return inTransaction(pool, async (trx) => {
    const { rows } = await trx.query<{ test: boolean }>(
      'delete from flow_entries where id = any($1) and attempt_count + 1 >= $2 returning test',
      [ids, MAX_ATTEMPTS],
    );
    const n = rows.filter(({ test }) => !test).length;
    if (n > 0) await countForFlow(trx, [{ flowId, name: 'not_entered:error', n }]);
    await trx.query(
      `update flow_entries set attempt_count = attempt_count + 1,
         retry_at = now() + make_interval(secs => 2 ^ attempt_count)
       where id = any($1)`,
      [ids],
    );
  });
}

/**
 * Judges entries. If that fails, it judges each half separately, so that one entry does not stop the others. If it
 * takes too long, all of them are postponed, so that the flow does not hold up others.
 */
async function judgeParts(
  deps: PagesDeps,
  flowId: number,
  part: Part | null,
  isRepetition = false,
): Promise<PageResult> {
  const taken: Taken = { due: [], ids: [], isBurst: false };
  const { ids } = taken;
  try {
    return await takePage(deps, flowId, part, taken);
  } catch (error) {
    if (isConnectionError(error) || ids.length === 0) throw error;
    if ((error as { code?: string }).code === DEADLOCK && !isRepetition) {
      return judgeParts(deps, flowId, taken, true);
    }
    // Filters that cannot be evaluated fail for all entries.
    const isInvalid = error instanceof AppError;
    if (ids.length === 1 || isInvalid || isStatementTimeout(error)) {
      const later = isInvalid ? taken.due : ids;
      deps.log.warn({ err: error, flow_id: flowId, entry_ids: later }, 'entries cannot be judged');
      await postpone(deps, flowId, later);
      return NOTHING;
    }
    const middle = Math.ceil(ids.length / 2);
    const one = await judgeParts(deps, flowId, { ...taken, ids: ids.slice(0, middle) });
    const other = await judgeParts(deps, flowId, { ...taken, ids: ids.slice(middle) });
    return { busy: false, began: one.began || other.began };
  }
}

/**
 * Judges one page of a flow's due entries. Only one process at a time does this for a flow, so that two entries of a
 * contact are never judged concurrently.
 * @throws if the database is unavailable
 */
export function judgePage(deps: PagesDeps, flowId: number): Promise<PageResult> {
  return judgeParts(deps, flowId, null);
}

/** SQL: whether there are due entries. */
export const entriesWaitSql = `exists (select from flow_entries where ${isDue})`;

/** Finds flows with due entries. */
export async function flowsWithEntries(db: Queryable): Promise<number[]> {
  const { rows } = await db.query<{ id: number }>({
    name: 'flows_with_entries',
    text: `
    with recursive f as (
      select min(flow_id) as id from flow_entries
      union all
      select (select min(e.flow_id) from flow_entries e where e.flow_id > f.id) from f where f.id is not null
    )
    select f.id from f
    where f.id is not null and exists (
      select 1 from flow_entries e where e.flow_id = f.id and ${isDue})`,
  });
  return rows.map(({ id }) => id);
}
