// Nothing leaves that may not: every limit, pause, consent rule and refusal is obeyed on every path out of the service.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import {
  expectedFate,
  fatesOf,
  type Moment,
  moments,
  type Obstacle,
  obstacles,
} from '../support/obstacles.ts';
import { insertSender } from '../support/queued.ts';
import { createWaysOut, type Path, paths, plainPaths, type WaysOut } from '../support/ways-out.ts';

const OWNER = 90;
const AT_ONCE = 3;

const names = Object.keys(obstacles) as Obstacle[];

interface Case {
  obstacle: Obstacle;
  path: Path;
  moment: Moment;
}

const cases = names.flatMap((obstacle) =>
  paths.flatMap((path) =>
    moments.flatMap((moment) =>
      // What a sender claims is in running-sender.test.ts, except what it takes in one call if it is idle.
      expectedFate(obstacle, path, moment) && (moment === 'between' || plainPaths.includes(path))
        ? { obstacle, path, moment }
        : [],
    ),
  ),
);

const nameOf = ({ obstacle, path, moment }: Case) => `${obstacle}, ${moment}, ${path}`;

let test: TestDatabase;
let ways: WaysOut;
const fates = new Map<string, string | undefined>();
const takenAsPlain = new Set<Obstacle>();

async function run({ obstacle, path, moment }: Case): Promise<string | undefined> {
  const { database } = test;
  const { apply, plusAddresses = false } = obstacles[obstacle];
  const waiting = { ...(await ways.write(path)), plusAddresses };
  const obstruct = () => apply(database, waiting, ways.backlogOf(path, waiting));
  if (moment === 'before') await obstruct();
  await ways.prepare(path, waiting);
  const isPlain = await ways.leave(path, waiting, moment === 'between' ? obstruct : undefined);
  if (isPlain && path === 'plain') takenAsPlain.add(obstacle);
  const [fate] = await fatesOf(database, [waiting], ways.handedOver);
  return fate;
}

beforeAll(async () => {
  // It plans statements as a sender's database does.
  test = await createTestDatabase({ poolMax: AT_ONCE, keyedPlans: true });
  await insertSender(test.database, OWNER);
  ways = createWaysOut(test.database, OWNER);
  const left = cases.values();
  const work = async () => {
    for (const next of left)
      fates.set(nameOf(next), await run(next).catch((error: unknown) => String(error)));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
});
afterAll(() => test.drop());

/** What becomes of the messages of each case, by path and moment. */
const byPath = (of: readonly Case[], fateIn: (each: Case) => string | null | undefined) =>
  Object.fromEntries(of.map((each) => [`${each.path}, ${each.moment}`, fateIn(each)]));

describe('on every path out of the service, between claim and intent, and before a plain message is taken', () => {
  it.each(names)('a message leaves, waits or ends as it must: %s', (name) => {
    const of = cases.filter(({ obstacle }) => obstacle === name);
    expect(byPath(of, (each) => fates.get(nameOf(each)))).toEqual(
      byPath(of, ({ obstacle, path, moment }) => expectedFate(obstacle, path, moment)),
    );
  });

  it('a plain message is taken in one call, unless something stands in its way', () => {
    expect(names.filter((obstacle) => takenAsPlain.has(obstacle))).toEqual(
      names.filter((obstacle) => expectedFate(obstacle, 'plain', 'before') === 'leaves'),
    );
  });
});
