/**
 * A sender for a test to kill. It hands over messages of an account with random outcomes, and records random reports,
 * opens, clicks and unsubscriptions about them, until it is killed. It sends its parent the number of facts after each
 * step.
 */
import { foldStats } from '../../../src/features/stats/fold.ts';
import { openDatabase } from '../../../src/platform/db/database.ts';
import {
  type Backlog,
  type Batch,
  createOutcomes,
  outcomeNames,
  outcomes,
  reportNames,
} from '../outcomes.ts';
import { randomFrom } from '../random.ts';
import { fetchLinks, unsubscribeBy } from '../recipients.ts';

const [url = '', owner = '', accountId = '', brandId = ''] = process.argv.slice(2);
const account = { accountId: Number(accountId), brandId: Number(brandId) };
const { pool } = openDatabase({ url, poolMax: 2, applicationName: 'outcome writer', keyedPlans: true });
const sender = createOutcomes({ pool }, Number(owner));
const random = randomFrom(Number(owner));

const backlogs: readonly Backlog[] = ['transactional', 'transactional', 'block', 'block', 'campaign', 'flow'];
const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;

const DAYS_MS = 3 * 86_400_000;
const anyTime = () => new Date(Date.now() - random(DAYS_MS));

/** Messages in the order of their ids, from a random one. */
async function someMessages(limit: number): Promise<number[]> {
  const { rows } = await pool.query<{ id: number }>(
    `select id from messages where account_id = $1 and id >= (
       select min(id) + floor((max(id) - min(id)) * $2::float8)::bigint from messages where account_id = $1)
     order by id limit $3`,
    [account.accountId, random(1_000) / 1_000, limit],
  );
  return rows.map(({ id }) => id);
}

const open: Batch[] = [];

/** Leaves up to three batches under their intents, and records the others, sometimes twice. */
async function handOver(): Promise<number> {
  const taken = await sender.intend(account, pick(backlogs), 100);
  if (taken) open.push(taken);
  const batch = taken && open.length <= 3 ? undefined : open.shift();
  if (!batch) return 0;
  const isPlain = random(3) === 0;
  const record = batch(() => outcomes[isPlain ? 'accepted' : pick(outcomeNames)]);
  await sender.record(record);
  if (random(4) === 0) await sender.record(record);
  return record.outcomes.length;
}

async function report(): Promise<number> {
  const ids = await someMessages(50);
  const reports = ids.flatMap((messageId) =>
    Array.from({ length: random(4) }, () => ({ messageId, name: pick(reportNames), at: anyTime() })),
  );
  if (reports.length > 0) await sender.report(account, reports);
  return reports.length;
}

async function interact(): Promise<number> {
  const ids = await someMessages(40);
  const fetches = ids.map((messageId) => ({ messageId, link: random(3), at: anyTime() }));
  await fetchLinks(pool, account, fetches);
  return fetches.length;
}

async function unsubscribe(): Promise<number> {
  const ids = await someMessages(1);
  for (const id of ids) await unsubscribeBy(pool, account, id, random(2) === 0 ? null : `x${id}@example.com`);
  return ids.length;
}

async function fold(): Promise<number> {
  await foldStats(pool);
  return 0;
}

const steps = [handOver, handOver, handOver, report, report, interact, unsubscribe, fold];
for (;;) process.send?.(await pick(steps)());
