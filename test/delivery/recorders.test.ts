// A sent message changes the same rows, whichever recorder records it, and recording it twice changes nothing more.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findMessage, findMessageEvents } from '../../src/features/messages/model.ts';
import { presentMessageDetail } from '../../src/features/messages/presenter.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { outcomes } from '../support/outcomes.ts';
import { insertSender } from '../support/queued.ts';
import { rowChanges, takeSnapshot } from '../support/row-changes.ts';
import { companions, courses, handOverCompanions, type KindName, kinds } from '../support/sent-messages.ts';
import { unsentEffects, unsentKinds, type UnsentName, unsentNames } from '../support/unsent-messages.ts';
import { acceptedBy, createWaysOut, type Waiting } from '../support/ways-out.ts';

const AT_ONCE = 3;
const FIRST_OWNER = 500;

const names = Object.keys(kinds) as KindName[];
const ways = [...Object.keys(companions), ...Object.keys(courses)];

let test: TestDatabase;
let owners = FIRST_OWNER;
const changes = new Map<string, string[]>();
/** What the API shows of the accepted attempt. */
const accepted = new Map<string, unknown[]>();

/** What all shapes of the record do, if the provider did not accept the message. */
const unsentWays = ['alone', 'beside a flow message and a retry', 'beside a paid flow message'] as const;

type Outcome = 'sent' | UnsentName;
type Run = [kind: KindName, way: string, outcome: Outcome];

const nameOf = (kind: KindName, way: string, outcome: Outcome = 'sent') => `${kind}, ${outcome}, ${way}`;

/** Whether readers see the change: events of what the message's row shows are merged with it. */
const isShown = (line: string) => !/^\+ message_events .* type=(sent|delivered) /.test(line);

/** A message that its sender has handed over, and the rest of its way. */
interface UnderWay {
  name: string;
  waiting: Waiting;
  record(): Promise<unknown>;
}

/** Hands a message of the kind over. */
async function handOver(kind: KindName, way: string, given: Outcome): Promise<UnderWay> {
  const { database } = test;
  const owner = ++owners;
  await insertSender(database, owner);
  const out = createWaysOut(database, owner);
  const { path, ...of } = kinds[kind];
  const waiting = await out.write(path);
  if ('setUp' in of) await of.setUp(database, waiting);
  const batchOf = await out.handOver(path, waiting);
  const others = await handOverCompanions(database, out, companions[way] ?? []);
  const end = (outcome: 'sent' | 'delivered') =>
    batchOf((message) => (given === 'sent' ? acceptedBy(message, outcome === 'delivered') : outcomes[given]));
  const course = courses[way] ?? { run: () => out.record(end('sent'), ...others) };
  return {
    ...{ name: nameOf(kind, way, given), waiting },
    record: () => course.run(out, waiting, end),
  };
}

async function readAccepted({ accountId, brandId, messageId }: Waiting): Promise<unknown[]> {
  const { pool } = test.database;
  const row = await findMessage(pool, { accountId, brandId } as Parameters<typeof findMessage>[1], messageId);
  if (!row) throw new Error('no message');
  const { events } = presentMessageDetail(row, await findMessageEvents(pool, messageId));
  return events.filter(({ type }) => type === 'sent').map(({ attempt, data }) => ({ attempt, ...data }));
}

/** Calls `work` for each item, a few at once. */
async function forEach<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = items.values();
  const worker = async () => {
    for (const next of left) await work(next);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: AT_ONCE, keyedPlans: true });
  const underWay: UnderWay[] = [];
  const sent = names.flatMap((kind) => ways.map((way): Run => [kind, way, 'sent']));
  const unsent = unsentKinds.flatMap((kind) =>
    unsentNames.flatMap((outcome) => unsentWays.map((way): Run => [kind, way, outcome])),
  );
  await forEach([...sent, ...unsent], async (each) => void underWay.push(await handOver(...each)));
  const before = await takeSnapshot(test.database.pool);
  await forEach(underWay, async ({ record }) => {
    // The reply to the first commit may be lost, and providers may report twice.
    await record();
    await record();
  });
  const found = rowChanges(before, await takeSnapshot(test.database.pool));
  await forEach(underWay, async ({ name, waiting }) => {
    changes.set(name, (found.get(waiting.accountId) ?? []).filter(isShown));
    accepted.set(name, await readAccepted(waiting));
  });
});
afterAll(() => test.drop());

describe('a message that is recorded as sent, twice, in each way', () => {
  it.each(names)('changes what it must: %s', (kind) => {
    const byWay = (changesIn: (way: string) => unknown) =>
      Object.fromEntries(ways.map((way) => [way, changesIn(way)]));
    expect(byWay((way) => changes.get(nameOf(kind, way)))).toEqual(
      byWay((way) => (courses[way]?.effects(kinds[kind]) ?? [...kinds[kind].effects]).toSorted()),
    );
  });
});

describe('the history of a message that is recorded as sent', () => {
  const recorded = ways.filter((way) => !courses[way]?.unrecorded);

  it.each(names)('has the response of the provider, whatever came first: %s', (kind) => {
    const shown = [{ attempt: kinds[kind].attempt, provider: 'relay', response: '250 ok' }];
    expect(recorded.map((way) => [way, accepted.get(nameOf(kind, way))])).toEqual(
      recorded.map((way) => [way, shown]),
    );
  });
});

describe('a message that a provider did not accept, recorded twice, in each way', () => {
  it.each(unsentKinds)('changes what it must: %s', (kind) => {
    const byCase = (changesIn: (outcome: UnsentName, way: string) => unknown) =>
      Object.fromEntries(
        unsentNames.flatMap((outcome) =>
          unsentWays.map((way) => [`${outcome}, ${way}`, changesIn(outcome, way)]),
        ),
      );
    expect(byCase((outcome, way) => changes.get(nameOf(kind, way, outcome)))).toEqual(
      byCase((outcome) => unsentEffects(kinds[kind], outcome).toSorted()),
    );
  });
});
