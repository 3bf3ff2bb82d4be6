// The snapshot of a large audience takes few pages and few blocks.
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { campaignCounts } from '../../../../src/features/campaigns/campaign-counts.ts';
import {
  planSnapshot,
  readCampaign,
  wantsPage,
  writePage,
} from '../../../../src/features/campaigns/run/page.ts';
import { blocksOf, insertSentCampaign } from '../../../support/campaign-runs.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertAccount } from '../../../support/queued.ts';

const COUNT = 100_000;
const TICK_MS = 10;

let db: TestDatabase;
beforeAll(async () => {
  // One connection, so that its backend does all the work.
  db = await createTestDatabase({ poolMax: 1 });
}, 60_000);
afterAll(() => db.drop());

/** Processor time of the connection's backend, in milliseconds; null where it cannot be read. */
async function backendMs(): Promise<number | null> {
  const { rows } = await db.database.pool.query<{ pid: number }>('select pg_backend_pid() as pid');
  const stat = await readFile(`/proc/${rows[0]?.pid ?? 0}/stat`, 'utf8').catch(() => null);
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields ? (Number(fields[11]) + Number(fields[12])) * TICK_MS : null;
}

describe('a snapshot of 100,000 contacts', () => {
  it('takes pages of 20,000 and few blocks, whatever the size of the audience', async () => {
    const { pool } = db.database;
    const account = await insertAccount(db.database);
    await insertContacts(pool, account, COUNT);
    await pool.query('analyze contacts');
    const id = await insertSentCampaign(pool, account, {
      audience: { filters: [], segmentId: 1 },
      phase: 'snapshot',
    });
    const row = await readCampaign(pool, id);
    if (!wantsPage(row)) throw new Error('no such campaign');
    const plan = await planSnapshot(pool, row);
    const [startedAt, before] = [performance.now(), await backendMs()];
    let pages = 0;
    for (let state = 'more'; state === 'more'; pages += 1) {
      ({ state } = await writePage({ pool, plusAddresses: false }, id, plan, new Date()));
    }
    const [wall, after] = [performance.now() - startedAt, await backendMs()];
    const each = before === null || after === null ? '?' : (((after - before) * 1_000) / COUNT).toFixed(1);
    process.stderr.write(
      `snapshot: ${Math.round((COUNT / wall) * 1_000)} rows/s, ${each} µs of PostgreSQL a row\n`,
    );
    expect(pages).toBe(6);
    expect((await blocksOf(pool, id)).length).toBeLessThanOrEqual(2_000 / 100 + 100);
    expect((await campaignCounts(pool, [id])).get(id)).toMatchObject({ audience: COUNT, remaining: COUNT });
  }, 180_000);
});
