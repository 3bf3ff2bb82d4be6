// Messages from before the figures are counted once, exactly, whatever is recorded meanwhile; and a comparison mends.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { statsComparison } from '../../../src/features/stats/comparison.ts';
import { foldStats } from '../../../src/features/stats/fold.ts';
import { countOlderMessages, olderMessages } from '../../../src/features/stats/older-messages.ts';
import { openDatabase, type Database } from '../../../src/platform/db/database.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { runTask } from '../../support/housekeeping.ts';
import { createOutcomes, outcomeNames, reportNames } from '../../support/outcomes.ts';
import { insertAccount, insertSender, queueEmails, type QueuedAccount } from '../../support/queued.ts';
import { countedStats, recountedStats, statSums } from '../../support/stats.ts';

const OWNER = 94;

let test: TestDatabase;
let database: Database;
let account: QueuedAccount;
let sender: ReturnType<typeof createOutcomes>;

beforeAll(async () => {
  test = await createTestDatabase();
  database = openDatabase({ url: test.url, poolMax: 6 });
  await insertSender(database, OWNER);
  sender = createOutcomes(database, OWNER);
});
afterAll(async () => {
  await database.close();
  await test.drop();
});
beforeEach(async () => {
  await query('truncate messages, message_events, send_queue, stat_changes, stat_counts, stat_hours');
  await query(
    `update older_stats set reached_id = 0, last_id = 0, first_id = null, complete_since = '2000-01-01'`,
  );
  account = await insertAccount(database);
});

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  database.pool.query<Row>(text, values).then(({ rows }) => rows);

const sums = () => statSums(database.pool, account.brandId);

/** The figures by the hour, beside those by quarters of an hour. */
async function expectRecount(): Promise<void> {
  expect(await countedStats(database.pool, account.brandId)).toEqual(
    await recountedStats(database.pool, account.brandId),
  );
  while (await foldStats(database.pool));
  const columns =
    'sum(sent) as sent, sum(delivered) as delivered, sum(bounced) as bounced, sum(complained) as complained';
  const hours = await query(
    `select date_trunc('hour', slot) as hour, ${columns} from stat_hours group by 1 order by 1`,
  );
  expect(hours).toEqual(
    await query(`select date_trunc('hour', slot) as hour, ${columns} from stat_counts group by 1 order by 1`),
  );
}

let seed = 1;
/** The same numbers in each run. */
function random(below: number): number {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed % below;
}
const pick = <T>(values: readonly T[]): T => values[random(values.length)] as T;

/** Reports about random messages, up to half a day ago. */
async function reportRandomly(ids: readonly number[], count: number): Promise<void> {
  const reports = Array.from({ length: count }, () => ({
    messageId: pick(ids),
    name: pick(reportNames),
    at: new Date(Date.now() - random(12 * 3_600_000)),
  }));
  await sender.report(account, reports);
}

/** Sends emails with random outcomes. */
async function sendRandomly(count: number): Promise<number[]> {
  const ids = await queueEmails(database, account, count, { queuedHoursAgo: 24 });
  await query(`update messages set created_at = now() - interval '1 day' where id = any($1)`, [ids]);
  await sender.send(account, 'transactional', ...Array.from({ length: count }, () => pick(outcomeNames)));
  return ids;
}

/** Makes the database look as before figures were recorded. */
async function forgetFigures(): Promise<void> {
  await query('truncate stat_changes, stat_counts, stat_hours');
  await query('update messages set bounced_at = null, complained_at = null');
  await query('update older_stats set reached_id = 0, last_id = (select max(id) from messages)');
}

describe('older messages', () => {
  it('are counted when what happened to them happened', async () => {
    const ids = await sendRandomly(40);
    await reportRandomly(ids, 80);
    const before = await recountedStats(database.pool, account.brandId);
    await forgetFigures();
    expect(await sums()).toEqual({});
    expect(await runTask(database, olderMessages, new Date())).toBe(1);
    expect(await countedStats(database.pool, account.brandId)).toEqual(before);
    await expectRecount();
  });

  it('are counted once, while reports about them are recorded and folded', async () => {
    for (let round = 0; round < 2; round += 1) {
      const ids = await sendRandomly(60);
      await reportRandomly(ids, 40);
      await forgetFigures();
      const newer = await queueEmails(database, account, 20);
      await Promise.all([
        (async () => {
          while (await countOlderMessages(database.pool, 3));
        })(),
        (async () => {
          while (await countOlderMessages(database.pool, 2));
        })(),
        (async () => {
          for (let n = 0; n < 40; n += 1) await reportRandomly([...ids, ...newer], 4);
        })(),
        (async () => {
          for (let n = 0; n < 40; n += 1) await foldStats(database.pool);
        })(),
      ]);
      await expectRecount();
    }
    expect(await query('select count(*)::int as waiting from stat_changes')).toEqual([{ waiting: 0 }]);
  });

  it('show what happens to them before they are reached', async () => {
    const [id = 0] = await queueEmails(database, account, 1);
    await sender.send(account, 'transactional', 'accepted');
    await forgetFigures();
    await sender.report(account, [{ messageId: id, name: 'delivered' }]);
    await foldStats(database.pool);
    expect(await sums()).toEqual({ delivered: 1 });
    await runTask(database, olderMessages, new Date());
    expect(await sums()).toEqual({ sent: 1, delivered: 1 });
  });

  it('are counted on from where a killed process stopped', async () => {
    const ids = await sendRandomly(20);
    await reportRandomly(ids, 20);
    await forgetFigures();
    await countOlderMessages(database.pool, 7);
    await query(`create function fail() returns trigger language plpgsql as $$ begin raise 'no'; end $$`);
    await query('create trigger fail before update on older_stats for each row execute function fail()');
    await expect(countOlderMessages(database.pool, 7)).rejects.toThrow('no');
    await query('drop function fail cascade');
    expect(await runTask(database, olderMessages, new Date())).toBe(1);
    await expectRecount();
  });

  it('are not counted if they are tests', async () => {
    await sendRandomly(5);
    await query('update messages set test = true');
    await forgetFigures();
    await runTask(database, olderMessages, new Date());
    expect(await sums()).toEqual({});
  });
});

describe('the comparison', () => {
  /** Compares as in the night after now. */
  async function compare(): Promise<number> {
    const night = new Date();
    night.setUTCHours(27, 7, 0, 0);
    return runTask(database, statsComparison, night);
  }

  it('finds no difference if there is none, folded or not', async () => {
    const ids = await sendRandomly(20);
    await reportRandomly(ids, 20);
    expect(await compare()).toBe(0);
    await foldStats(database.pool);
    expect(await compare()).toBe(0);
  });

  it('adds what is missing, and takes away what is too much', async () => {
    const ids = await sendRandomly(20);
    await reportRandomly(ids, 40);
    await query(`delete from stat_changes where name in ('sent', 'bounced')`);
    await foldStats(database.pool);
    await query(
      `insert into stat_changes (brand_id, slot, source, channel, name, count)
       select $1, date_bin('15 minutes', now(), '2000-01-01Z'), 'flow', 'email', 'opened', 3`,
      [account.brandId],
    );
    expect(await compare()).toBe(1);
    await expectRecount();
    expect(await compare()).toBe(0);
  });

  it('waits until older messages are counted', async () => {
    await sendRandomly(5);
    await forgetFigures();
    expect(await compare()).toBe(0);
    expect(await sums()).toEqual({});
  });

  it('leaves figures alone whose messages retention may have dropped', async () => {
    const ids = await sendRandomly(20);
    await reportRandomly(ids, 20);
    const before = await sums();
    await query('update older_stats set first_id = -1');
    await query('delete from messages');
    expect(await compare()).toBe(0);
    expect(await sums()).toEqual(before);
  });

  it('runs once a night', async () => {
    await sendRandomly(5);
    await query('truncate stat_changes');
    expect(await runTask(database, statsComparison, new Date('2026-03-01T04:07:00Z'))).toBe(0);
    expect(await sums()).toEqual({});
  });
});
