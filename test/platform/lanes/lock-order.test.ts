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
/** As they lie in the table: the other way round. */
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

describe('lanes are locked in the order of their kinds and numbers', () => {
  it.each([
    ['by the plan of how many there are', () => planLanes(test.database.pool, 'send')],
    ['by who looks after their workflows', () => claimLaneChecks(test.database.pool, 0, 60)],
    ['by who could not', () => releaseLaneChecks(test.database.pool, lanes)],
    [
      'by the process that shows another',
      () => takeLane(test.database.pool, { kind: 'send', n: 1 }, PROCESS),
    ],
  ])('%s', async (_who, work) => {
    const counts = await countUnlockedRows(test.database.pool, {
      lock: `select 1 from lanes where kind = 'send' and n = $1 for update`,
      values: [1],
      work,
      probes: ['select 1 from lanes for no key update'],
    });
    expect(counts).toEqual([lanes.length]);
  });
});

it('a lane that another has just looked after is not looked after by who waited for it', async () => {
  const { pool } = test.database;
  let looked: Lane[] = [];
  await countUnlockedRows(pool, {
    lock: `update lanes set checked_at = now() where kind = 'send' and n = $1`,
    values: [1],
    work: async () => void (looked = await claimLaneChecks(pool, 30, 60)),
    probes: [],
  });
  expect(looked.map(({ kind, n }) => `${kind} ${n}`).toSorted()).toEqual([
    'send 2',
    'webhook 1',
    'webhook 2',
  ]);
});
