// Lane rows are always locked in the same order, and two processes never claim the same check.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  claimLaneChecks,
  planLanes,
  releaseLaneChecks,
  takeLane,
  type Lane,
} from '../../../src/platform/lanes/rows.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { countUnlockedRows } from '../../support/lock-order.ts';

const PROCESS = 70;
/** In the order in which they are stored: the reverse of the order in which they are locked. */
const lanes: Lane[] = [
  { kind: 'webhook', n: 2 },
  { kind: 'webhook', n: 1 },
  { kind: 'send', n: 2 },
  { kind: 'send', n: 1 },
];

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
}, 60_000);
afterAll(() => test.drop());
beforeEach(async () => {
  await test.database.pool.query('truncate lanes');
  for (const { kind, n } of lanes) {
    await test.database.pool.query('insert into lanes (kind, n, process_id) values ($1, $2, $3)', [
      kind,
      n,
      n === 2 ? PROCESS : null,
    ]);
  }
});

describe('lanes are locked in the order of kind and number by', () => {
  it.each([
    ['planLanes', () => planLanes(test.database.pool, 'send')],
    ['claimLaneChecks', () => claimLaneChecks(test.database.pool, 0, 60)],
    ['releaseLaneChecks', () => releaseLaneChecks(test.database.pool, lanes)],
    ['takeLane', () => takeLane(test.database.pool, { kind: 'send', n: 1 }, PROCESS)],
  ])('%s', async (_name, work) => {
    const counts = await countUnlockedRows(test.database.pool, {
      lock: `select 1 from lanes where kind = 'send' and n = $1 for update`,
      values: [1],
      work,
      probes: ['select 1 from lanes for no key update'],
    });
    expect(counts).toEqual([lanes.length]);
  });
});

it('does not claim a check that another process made while this one waited for the lane', async () => {
  const { pool } = test.database;
  let claimed: Lane[] = [];
  await countUnlockedRows(pool, {
    lock: `update lanes set checked_at = now() where kind = 'send' and n = $1`,
    values: [1],
    work: async () => void (claimed = await claimLaneChecks(pool, 30, 60)),
    probes: [],
  });
  expect(claimed.map(({ kind, n }) => `${kind} ${n}`).toSorted()).toEqual([
    'send 2',
    'webhook 1',
    'webhook 2',
  ]);
});
