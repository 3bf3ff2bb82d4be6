// A running sender hands over what may leave, and nothing else: with every obstacle in the way of messages on every path.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { expectedFate, fatesOf, type Obstacle, obstacles } from '../support/obstacles.ts';
import { insertSender, wakeSenders } from '../support/queued.ts';
import { startTestSender } from '../support/sending.ts';
import {
  acceptingChannels,
  createWaysOut,
  type Path,
  paths,
  type Waiting,
  type WaysOut,
} from '../support/ways-out.ts';

/** Writes the messages. It is not the sender that runs. */
const WRITER = 90;
const AT_ONCE = 3;

const names = (Object.keys(obstacles) as Obstacle[]).filter((name) => !obstacles[name].plusAddresses);

interface Case {
  name: string;
  expected: string;
  waiting: Waiting;
}

let test: TestDatabase;
let ways: WaysOut;
const left: number[] = [];

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: AT_ONCE, keyedPlans: true });
  await insertSender(test.database, WRITER);
  ways = createWaysOut(test.database, WRITER);
});
afterAll(() => test.drop());

async function write(obstacle: Obstacle, path: Path): Promise<Case[]> {
  const expected = expectedFate(obstacle, path, 'before');
  if (expected === null) return [];
  const waiting = await ways.write(path);
  await obstacles[obstacle].apply(test.database, waiting, ways.backlogOf(path, waiting));
  await ways.prepare(path, waiting);
  return [{ name: `${obstacle}, ${path}`, expected, waiting }];
}

async function writeAll(): Promise<Case[]> {
  const pairs = names.flatMap((obstacle) => paths.map((path) => [obstacle, path] as const)).values();
  const cases: Case[] = [];
  const work = async () => {
    for (const [obstacle, path] of pairs) cases.push(...(await write(obstacle, path)));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return cases;
}

it('hands over what may leave, and nothing else', async () => {
  const cases = await writeAll();
  const expected = Object.fromEntries(cases.map(({ name, expected: fate }) => [name, fate]));
  const fates = async () => {
    const found = await fatesOf(
      test.database,
      cases.map(({ waiting }) => waiting),
      ({ messageId }) => left.filter((id) => id === messageId).length,
    );
    return Object.fromEntries(cases.map(({ name }, n) => [name, found[n]]));
  };
  const channels = acceptingChannels((id) => left.push(id));
  const sender = await startTestSender({ url: test.url, port: 0, channels });
  try {
    await eventually(async () => expect(await fates()).toEqual(expected));
    // Whatever the sender would still send leaves before, or together with, what comes last.
    const last = await ways.write('general');
    await wakeSenders(test.database);
    await eventually(() => expect(left).toContain(last.messageId));
  } finally {
    await sender.stop();
  }
  expect(await fates()).toEqual(expected);
});
