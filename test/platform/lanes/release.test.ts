// A sender that stops leaves its lanes, with their modes, to the sender that replaces it.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readSenderState } from '../../../src/features/delivery-status/senders.ts';
import { adoptLane, planLanes, recordLaneMode, releaseLanes } from '../../../src/platform/lanes/rows.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { registerTestProcess } from '../../support/test-process.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

it('is replaced by a sender that is as paused as it was, while it still waits for replies', async () => {
  const { pool } = test.database;
  const [old, next] = [
    await registerTestProcess({ url: test.url }),
    await registerTestProcess({ url: test.url }),
  ];
  try {
    await planLanes(pool, 'send');
    const lane = await adoptLane(pool, 'send', old.id() ?? 0);
    await recordLaneMode(pool, { kind: 'send', n: lane?.n ?? 0 }, 'paused');
    await releaseLanes(pool, old.id() ?? 0);
    expect(await adoptLane(pool, 'send', next.id() ?? 0)).toEqual({ n: lane?.n, mode: 'paused' });
    expect(await readSenderState(pool)).toBe('paused');
    const { rows } = await pool.query('select role from processes order by id');
    expect(rows).toEqual([{ role: 'sender, stopping' }, { role: 'sender' }]);
  } finally {
    await old.close();
    await next.close();
  }
});
