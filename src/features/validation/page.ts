import type pg from 'pg';
import { REUSED } from './audience.ts';
import type {
  AddressCandidate,
  AddressChecker,
  AddressChecks,
  CheckedAddress,
} from './checks/address-checker.ts';
import { historyReasons, type Verdict } from './checks/verdict.ts';
import { findHistory } from './history.ts';
import type { OperationRow } from './model.ts';
import { type ItemResult, postponeItems, type Postponed, writeResults } from './results.ts';
import { testOutcome } from './test-outcomes.ts';

/** Number of items per page. */
const PAGE_ITEMS = 500;
/** How long results wait to be written together, in ms. */
const WRITE_MS = 1_000;

export interface PageDeps {
  pool: pg.Pool;
  checker: Pick<AddressChecker, 'check'>;
}

interface PageItem {
  id: number;
  email: string | null;
  email_key: string | null;
  chargeable: boolean;
  retry: boolean;
  /** The last result for the address, if it is reusable. */
  verdict: Verdict | null;
  reason: string | null;
  checks: AddressChecks | null;
  suggestion: string | null;
  checked_at: Date | null;
}

/** Reads the next items without a result: new ones, or those that are due to be checked again. */
async function readItems(
  pool: pg.Pool,
  row: OperationRow,
  { after, dueBy }: { after: number; dueBy: Date | null },
): Promise<PageItem[]> {
  const due = dueBy === null ? 'i.retry_at is null' : 'i.retry_at <= $6';
  const { rows } = await pool.query<PageItem>(
    `select i.id, i.email, i.email_key, i.chargeable, i.retry_at is not null as retry,
       v.verdict, v.reason, v.checks, v.suggestion, v.checked_at
     from (select * from validation_items i
       where i.operation_id = $1 and i.verdict is null and i.id > $2 and ${due} order by i.id limit $3) i
     left join contact_verdicts v on v.brand_id = $5 and v.contact_id = i.contact_id and v.email_key = i.email_key
       and v.reusable and v.checked_at > $4::timestamptz - ${REUSED}
     order by i.id`,
    [row.id, after, PAGE_ITEMS, row.as_of, row.brand_id, ...(dueBy === null ? [] : [dueBy])],
  );
  return rows;
}

const isConclusive = (verdict: Verdict) => verdict === 'deliverable' || verdict === 'undeliverable';

const plain = { checks: null, suggestion: null, charged: false, isNew: false, reusable: false };

/**
 * Returns the result of an item that needs no check: it is a test, its contact was deleted, or its last result is
 * reused.
 */
function withoutCheck(item: PageItem, isTest: boolean, now: string): ItemResult | null {
  const { id, email, verdict, reason, checks, suggestion, checked_at: checkedAt } = item;
  if (email === null) {
    return { ...plain, id, verdict: 'unknown', reason: 'mailbox_not_checked', checkedAt: now };
  }
  if (isTest) return { ...plain, id, ...testOutcome(email), checkedAt: now };
  if (verdict === null || checkedAt === null) return null;
  return {
    ...plain,
    id,
    verdict,
    reason: reason ?? '',
    checks,
    suggestion,
    checkedAt: checkedAt.toISOString(),
  };
}

function resultOf(checked: CheckedAddress, { id, chargeable }: PageItem, isPriced: boolean): ItemResult {
  const { verdict, reason, checks, suggestion } = checked;
  const isOurs = historyReasons.includes(reason);
  const reusable = isConclusive(verdict) && !isOurs;
  return {
    id,
    verdict,
    reason,
    checks,
    suggestion,
    reusable,
    charged: reusable && chargeable && isPriced,
    checkedAt: new Date().toISOString(),
    isNew: true,
  };
}

/**
 * Writes results a few hundred at a time, or once a second if they come slowly, because mail servers are queried
 * slowly.
 */
class Writer {
  readonly #pool: pg.Pool;
  readonly #row: OperationRow;
  #results: ItemResult[] = [];
  #postponed: Postponed[] = [];
  #writtenAt = Date.now();

  constructor(pool: pg.Pool, row: OperationRow) {
    this.#pool = pool;
    this.#row = row;
  }

  async add(result: ItemResult | Postponed): Promise<void> {
    if ('retryAt' in result) this.#postponed.push(result);
    else this.#results.push(result);
    if (Date.now() - this.#writtenAt >= WRITE_MS) await this.flush();
  }

  async flush(): Promise<void> {
    const [results, postponed] = [this.#results, this.#postponed];
    [this.#results, this.#postponed] = [[], []];
    await writeResults(this.#pool, this.#row, results);
    await postponeItems(this.#pool, this.#row.id, postponed);
    this.#writtenAt = Date.now();
  }
}

/** Finds the items that need no check, and what the brand's own mail says about the rest. */
async function prepare(
  { pool }: PageDeps,
  row: OperationRow,
  items: readonly PageItem[],
  asOf: Date,
): Promise<{ results: ItemResult[]; candidates: AddressCandidate[] }> {
  const now = new Date().toISOString();
  const keys = row.test ? [] : items.flatMap(({ email_key: key }) => key ?? []);
  const of = { accountId: row.account_id, brandId: row.brand_id, asOf };
  const history = await findHistory(pool, of, keys);
  const results: ItemResult[] = [];
  const candidates: AddressCandidate[] = [];
  for (const item of items) {
    const { id, email, retry } = item;
    const known = history.get(item.email_key ?? '') ?? null;
    const result = known === null ? withoutCheck(item, row.test, now) : null;
    if (result) results.push(result);
    else if (email !== null) candidates.push({ id: String(id), email, history: known, retry });
  }
  return { results, candidates };
}

/**
 * Gives candidates to the checker and writes the results as they come. If the signal is aborted, the rest stays
 * unchecked.
 */
async function checkCandidates(
  { pool, checker }: PageDeps,
  row: OperationRow,
  items: readonly PageItem[],
  { asOf, outsideValidator, signal }: PageOptions,
): Promise<void> {
  const { results, candidates } = await prepare({ pool, checker }, row, items, asOf);
  await writeResults(pool, row, results);
  if (candidates.length === 0) return;
  const byId = new Map(items.map((item) => [String(item.id), item]));
  const [accountId, operationId] = [String(row.account_id), String(row.id)];
  const writer = new Writer(pool, row);
  try {
    for await (const checked of checker.check(candidates, {
      accountId,
      operationId,
      outsideValidator,
      signal,
    })) {
      const item = byId.get(checked.id) as PageItem;
      const postponed = checked.retryAt && !item.retry ? { id: item.id, retryAt: checked.retryAt } : null;
      await writer.add(postponed ?? resultOf(checked, item, row.price_millicents > 0));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  await writer.flush();
}

export interface PageOptions {
  /** Only items with a higher id. */
  after: number;
  /** Only items that are due to be checked again by then; null: items that were not checked yet. */
  dueBy: Date | null;
  asOf: Date;
  /** Whether the account's addresses may be sent to the outside validator. */
  outsideValidator: boolean;
  /** Ends the page early. What was found until then is written. */
  signal: AbortSignal;
}

/**
 * Checks a page of an operation's items, and writes the findings to the items only. It changes nothing that other
 * transactions may have written since the page was read.
 * @returns the last item of the page; null if it was the last page
 */
export async function checkPage(
  deps: PageDeps,
  row: OperationRow,
  options: PageOptions,
): Promise<number | null> {
  const items = await readItems(deps.pool, row, options);
  if (items.length > 0) await checkCandidates(deps, row, items, options);
  return items.length < PAGE_ITEMS ? null : (items.at(-1)?.id ?? null);
}
