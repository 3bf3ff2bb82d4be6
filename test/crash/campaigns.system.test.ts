// Despite random kills, a campaign reaches no recipient twice, loses none, and its counts always add up.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { holdRetries, releaseRetries } from '../../src/delivery/ledger/blocks/campaign-blocks.ts';
import { type CampaignCounts, campaignCounts } from '../../src/features/campaigns/campaign-counts.ts';
import { recountBlocks } from '../../src/delivery/ledger/blocks/tallies.ts';
import { lockCampaignForChange } from '../../src/delivery/ledger/ownership/campaign-lock.ts';
import { inTransaction, isConnectionError } from '../../src/platform/db/queryable.ts';
import { writeCampaign, type WrittenCampaign, wrongTallies } from '../support/campaigns.ts';
import { scale } from '../support/crash/scale.ts';
import { fractionOf } from '../support/crash/send-and-kill.ts';
import { accountOf, type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { eventually } from '../support/eventually.ts';

const { recipients, kills } = scale.campaigns;
const BLOCK = 250;
/** Batches that one sender may have intended at once: two for each connection that takes campaigns. */
const CONNECTIONS = 4;
const MAX_BATCH = 50;
const LIMIT_MS = 600_000;
/** Between two looks at the campaign, which cost the database much. */
const LOOK_MS = 250;
/** An outage, the kill or the start of a part, or the way to the next kill may take so long, even on a busy machine. */
const STEP_LIMIT_MS = 90_000;
/** Kills fall into this part of a campaign, so that each of them finds recipients that still wait. */
const LAST_KILL_AT = 0.7;

let stage: CrashStage;

beforeAll(async () => {
  stage = await openCrashStage();
}, 180_000);
afterAll(async () => {
  await stage.close();
}, 60_000);
afterEach(() => stage.requireNoDeaths());

/** Rejects if a step takes too long: a crash test must end. */
async function within<T>(what: string, step: Promise<T>): Promise<T> {
  const late = delay(STEP_LIMIT_MS, undefined, { ref: false }).then(() => {
    throw new Error(`${what} takes more than ${STEP_LIMIT_MS / 1_000} s:\n${stage.lastLines()}`);
  });
  return Promise.race([step, late]);
}

/** Repeats work while the database is down. */
async function throughOutages<T>(work: () => Promise<T>): Promise<T> {
  const end = Date.now() + STEP_LIMIT_MS;
  for (;;) {
    try {
      return await within('a statement', work());
    } catch (error) {
      if (!isConnectionError(error) || Date.now() > end) throw error;
      await delay(200);
    }
  }
}

const sumOf = ({ sent, failed, skipped, unknown, canceled, remaining }: CampaignCounts) =>
  sent + failed + skipped + unknown + canceled + remaining;

async function countsOf(campaignId: number): Promise<CampaignCounts> {
  const counts = await throughOutages(() => campaignCounts(stage.database.pool, [campaignId]));
  return counts.get(campaignId) as CampaignCounts;
}

async function usedPlaces(): Promise<number> {
  const { rows } = await stage.database.pool.query<{ used: number }>(
    'select coalesce(sum(used), 0)::int as used from allowance_buckets where account_id = $1',
    [stage.accountId],
  );
  return rows[0]?.used ?? 0;
}

async function setStatus(campaignId: number, status: 'active' | 'paused'): Promise<void> {
  await throughOutages(() =>
    inTransaction(stage.database.pool, async (trx) => {
      await lockCampaignForChange(trx, campaignId);
      await trx.query('update campaigns set status = $2 where id = $1', [campaignId, status]);
      await (status === 'paused' ? holdRetries : releaseRetries)(trx, campaignId);
    }),
  );
}

/** Makes retries due that the schedule puts off by minutes. */
const hurryRetries = (campaignId: number) =>
  throughOutages(() =>
    stage.database.pool.query(
      `update send_queue set due_at = now()
       where message_id = any(array(
         select message_id from send_queue where campaign_id = $1 and owner is null and due_at < 'infinity'
         order by message_id for update skip locked))`,
      [campaignId],
    ),
  );

/** Resolves when so many mails have arrived. */
async function arrived(mails: number): Promise<void> {
  const end = Date.now() + STEP_LIMIT_MS;
  while (stage.sink.arrivals.length < mails) {
    if (Date.now() > end) throw new Error(`less than ${mails} mails arrived:\n${stage.lastLines()}`);
    await delay(10);
  }
}

/**
 * Kills one part after the other at moments of the campaign that the seed decides. At each third kill the campaign is
 * paused, and resumed when the part runs again.
 */
async function disturb(
  campaignId: number,
  { seed, mailsBefore }: { seed: number; mailsBefore: number },
): Promise<{ senderKills: number }> {
  const [first, second] = stage.senders;
  const parts = { first, second, worker: stage.worker, engine: stage.engine, postgres: stage.postgres };
  const names = Object.keys(parts) as (keyof typeof parts)[];
  let senderKills = 0;
  for (let n = 0; n < kills; n += 1) {
    const part = (LAST_KILL_AT * (n + fractionOf(seed, `moment ${n}`))) / kills;
    await arrived(mailsBefore + recipients * part);
    if (n % 3 === 1) {
      await setStatus(campaignId, 'paused');
      await delay(1_000 * fractionOf(seed, `pause ${n}`));
    }
    const name = names[(n + seed) % names.length] as keyof typeof parts;
    // The database's death ends the sessions of both senders.
    senderKills += name === 'postgres' ? 2 : name === 'first' || name === 'second' ? 1 : 0;
    await within(`the kill of ${name}`, parts[name].kill());
    await delay(300 * fractionOf(seed, `down ${n}`));
    await within(`the start of ${name}`, parts[name].start());
    if (n % 3 === 1) await setStatus(campaignId, 'active');
  }
  return { senderKills };
}

/** Repeats `look` until `stop` is called, which rejects with the error of a look, and in bounded time. */
function watch(look: () => Promise<void>): { stop(): Promise<void> } {
  let watching = true;
  const watched = (async () => {
    while (watching) {
      await look();
      await delay(LOOK_MS);
    }
  })();
  // An error is thrown by `stop`; until then it must not end the process.
  watched.catch(() => undefined);
  return {
    async stop() {
      watching = false;
      await within('the last look', watched);
    },
  };
}

/** The first messages that still wait for something, with what they wait for. */
async function unfinishedOf(campaignId: number): Promise<unknown[]> {
  const { rows } = await throughOutages(() =>
    stage.database.pool.query<Record<string, unknown>>(
      `select m.id, m.to_key, m.status, m.attempt_count, m.failure, m.updated_at, to_jsonb(q) as queue_row,
         (select to_jsonb(b) from campaign_blocks b
          where b.campaign_id = m.campaign_id and m.id between b.first_id and b.last_id) as block,
         (select jsonb_agg(to_jsonb(h)) from handovers h where m.id = any(h.message_ids)) as handovers, now() as now
       from messages m left join send_queue q on q.message_id = m.id
       where m.campaign_id = $1 and m.sent_at is null
         and m.status not in ('bounced', 'failed', 'skipped', 'unknown', 'canceled') order by m.id limit 5`,
      [campaignId],
    ),
  );
  return rows;
}

async function statesOf({ campaignId }: WrittenCampaign): Promise<Map<string, string>> {
  const { rows } = await stage.database.pool.query<{ to: string; state: string }>(
    `select to_key as "to", case when sent_at is not null then 'sent' else status end as state from messages
     where campaign_id = $1`,
    [campaignId],
  );
  return new Map(rows.map(({ to, state }) => [to, state]));
}

describe.each(scale.seeds)('a campaign whose processes are killed at random moments (seed %i)', (seed) => {
  it(
    'reaches nobody twice, loses nobody, and counts add up at every look',
    async () => {
      const { pool } = stage.database;
      const prefix = `campaign${seed}-`;
      const { sink } = stage;
      // 5 % are refused for good. 10 % are refused at their first attempt.
      const numberOf = (to: string) => Number(to.slice(prefix.length, to.indexOf('@')));
      const seen = new Set<string>();
      sink.refuse = (to) => {
        if (!to.startsWith(prefix)) return null;
        if (numberOf(to) % 20 === 0) return '554 5.7.1 no';
        if (numberOf(to) % 10 !== 1 || seen.has(to)) return null;
        seen.add(to);
        return '450 4.2.0 later';
      };
      const account = await accountOf(stage);
      const mailsBefore = sink.arrivals.length;
      const campaign = await writeCampaign(stage.database, account, { recipients, blockSize: BLOCK, prefix });
      const { campaignId } = campaign;

      const usedBefore = await usedPlaces();

      const looks: CampaignCounts[] = [];
      const watching = watch(async () => {
        looks.push(await countsOf(campaignId));
        await throughOutages(() => recountBlocks(pool, campaignId));
        await hurryRetries(campaignId);
      });
      let senderKills: number;
      try {
        ({ senderKills } = await disturb(campaignId, { seed, mailsBefore }));
        await eventually(
          async () => expect(await unfinishedOf(campaignId)).toEqual([]),
          LIMIT_MS / 3,
          LOOK_MS,
        );
        expect(await throughOutages(() => wrongTallies(stage.database, campaignId))).toEqual([]);
        expect((await countsOf(campaignId)).remaining).toBe(0);
      } finally {
        await watching.stop();
      }

      for (const counts of looks) expect(sumOf(counts)).toBe(recipients);
      for (let n = 1; n < looks.length; n += 1) {
        expect(looks[n]?.sent).toBeGreaterThanOrEqual(looks[n - 1]?.sent ?? 0);
      }
      const states = await statesOf(campaign);
      const received = sink.arrivals.map(({ to }) => to).filter((to) => to.startsWith(prefix));
      const reached = new Set<string>();
      expect(received.filter((to) => reached.size === reached.add(to).size)).toEqual([]);
      const of = (state: string) => [...states].flatMap(([to, each]) => (each === state ? to : []));
      expect(of('sent').filter((to) => !reached.has(to))).toEqual([]);
      expect(received.filter((to) => !['sent', 'unknown'].includes(states.get(to) ?? ''))).toEqual([]);
      expect(of('unknown').length).toBeLessThanOrEqual(senderKills * CONNECTIONS * MAX_BATCH);
      const final = await countsOf(campaignId);
      expect(final).toMatchObject({ audience: recipients, canceled: 0, skipped: 0, remaining: 0 });
      expect(final.sent + final.failed + final.unknown).toBe(recipients);
      expect(final.failed).toBeLessThanOrEqual(recipients / 20);
      await eventually(async () => {
        const { rowCount } = await pool.query(
          `select 1 from campaign_blocks where campaign_id = $1 and closed_at is null
         union all select 1 from send_queue where campaign_id = $1 union all select 1 from handovers`,
          [campaignId],
        );
        expect(rowCount).toBe(0);
      });
      // A message that was unknown for a time has used its place, even if it turns out to have failed.
      const used = (await usedPlaces()) - usedBefore;
      expect(used).toBeGreaterThanOrEqual(final.sent + final.unknown);
      expect(used).toBeLessThanOrEqual(final.sent + final.unknown + final.failed);
    },
    LIMIT_MS,
  );
});
