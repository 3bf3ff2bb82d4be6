// Clearing a deleted contact resumes after its process is killed, and reaches every message.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { clearPage } from '../../../src/features/contacts/removal-work.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';
import { runProgram } from '../../support/programs.ts';

const ADDRESS = 'half@example.test';
const MESSAGES = 1_000;
let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

async function numbers(sql: string, values: unknown[] = []): Promise<number[]> {
  const { rows } = await api.database.pool.query<{ n: number }>(sql, values);
  return rows.map(({ n }) => n);
}

const uncleared = () => numbers('select id as n from messages where to_key = $1 order by id', [ADDRESS]);

/** Starts a process that clears contacts, and kills it while it waits for one of the messages. */
async function killAtMessage(id: number): Promise<void> {
  await inTransaction(api.database.pool, async (trx) => {
    await trx.query('select 1 from messages where id = $1 for update', [id]);
    const clearer = runProgram('test/support/contact-clearer.ts', [String(api.config.DATABASE_URL)]);
    try {
      await eventually(async () => {
        const waiting = await numbers(
          `select pid as n from pg_stat_activity where datname = current_database()
             and application_name = 'contact clearer' and wait_event_type = 'Lock'`,
        );
        expect(waiting).toHaveLength(1);
      });
    } finally {
      clearer.child.kill('SIGKILL');
      await clearer.ended;
    }
  });
}

async function clearAll(asOf: Date): Promise<void> {
  await eventually(async () => {
    while (await clearPage(api.database.pool, { asOf, further: [], log: pino({ level: 'silent' }) }));
    expect(await numbers('select 1 as n from contact_removals where due_at <= $1', [asOf])).toEqual([]);
  });
}

describe('clearing a deleted contact', () => {
  it('resumes after its process was killed in the middle, and clears every message', async () => {
    const { body } = await api.request('POST', '/v1/my/contacts', { body: { email: ADDRESS } });
    await api.database.pool.query(
      `insert into messages (account_id, brand_id, channel, status, to_address, to_key, subject)
       select $1, $2, 'email', 'sent', $3, $3, 'Hi' from generate_series(1, $4::int)`,
      [api.accountId, api.brandId, ADDRESS, MESSAGES],
    );
    const ids = await uncleared();
    expect((await api.request('DELETE', `/v1/my/contacts/${String(body.id)}`)).status).toBe(200);

    // In the third page of 200, and once more in the last.
    await killAtMessage(ids[500] ?? 0);
    expect(await uncleared()).toEqual(ids.slice(400));
    await killAtMessage(ids[900] ?? 0);
    expect(await uncleared()).toEqual(ids.slice(800));

    // At once, and again when the second pass is due.
    await clearAll(new Date());
    await clearAll(new Date(Date.now() + 120_000));
    expect(await uncleared()).toEqual([]);
    expect(await numbers('select 1 as n from contact_removals')).toEqual([]);
  }, 60_000);
});
