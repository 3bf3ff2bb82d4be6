// Letters with large files leave memory and connections to all other mail.
import { setImmediate as nextTick } from 'node:timers/promises';
import { beforeEach, expect, it } from '@jest/globals';
import type { Claim } from '../../../../src/delivery/ledger/ownership/claims.ts';
import { type ByteBudget, createByteBudget } from '../../../../src/delivery/sender/turns/byte-budget.ts';
import { type ClaimBuffer, createClaimBuffer } from '../../../../src/delivery/sender/turns/claim-buffer.ts';
import { createFileRoom } from '../../../../src/delivery/sender/turns/file-room.ts';

const MIB = 1_048_576;
const WORKERS = 8;

let nextId = 0;
let files: ByteBudget;
beforeEach(() => {
  nextId = 0;
  files = createByteBudget(96 * MIB);
});

const openBuffer = (streams: boolean) =>
  createClaimBuffer(WORKERS, createByteBudget(), undefined, createFileRoom(WORKERS, streams, files));

const claims = (count: number, accountId: number, fileBytes?: number): Claim[] =>
  Array.from({ length: count }, () => ({
    ...{ messageId: nextId++, epoch: 1, accountId, class: 0, bytes: 1_000, weight: 1_000, losses: 0 },
    ...(fileBytes === undefined ? {} : { letter: { fileBytes } }),
  }));

/** Workers that wait for a batch, by their buffer. */
const waiting = new WeakMap<ClaimBuffer, Promise<Claim[] | null>>();

/** The batch of the next worker; null: it waits. */
async function next(buffer: ClaimBuffer): Promise<Claim[] | null> {
  const worker = waiting.get(buffer) ?? buffer.take();
  waiting.delete(buffer);
  const batch = await Promise.race([worker, nextTick('none' as const)]);
  if (batch !== 'none') return batch;
  waiting.set(buffer, worker);
  return null;
}

/** Takes batches until none is ready. */
async function batches(buffer: ClaimBuffer): Promise<Claim[][]> {
  const taken: Claim[][] = [];
  for (let batch = await next(buffer); batch; batch = await next(buffer)) taken.push(batch);
  return taken;
}

const sizes = (of: readonly Claim[][]) =>
  of.map((batch) => batch.map(({ letter }) => letter?.fileBytes ?? null));

it('puts letters and other messages into batches of their own', async () => {
  const buffer = openBuffer(true);
  buffer.add([...claims(3, 1), ...claims(12, 1, 0), ...claims(3, 2), ...claims(3, 2, 1_000)]);
  const found = await batches(buffer);
  for (const batch of found) expect(new Set(batch.map(({ letter }) => !letter)).size).toBe(1);
  expect(
    Math.max(...found.filter(([first]) => first?.letter).map(({ length }) => length)),
  ).toBeLessThanOrEqual(10);
  expect(found.flat()).toHaveLength(21);
  // The first batch takes all others, although letters of the same accounts wait between them.
  expect(found[0]?.filter(({ letter }) => !letter)).toHaveLength(found[0]?.length ?? 0);
});

it('gives a batch at most 4 MiB of files, or one larger letter', async () => {
  const buffer = openBuffer(true);
  buffer.add([3, 1, 1, 9, 1].flatMap((mib) => claims(1, 1, mib * MIB)));
  expect(sizes(await batches(buffer))).toEqual([[3 * MIB, MIB], [MIB], [9 * MIB], [MIB]]);
});

it('leaves half of the connections to messages without large files', async () => {
  const buffer = openBuffer(true);
  buffer.add(claims(WORKERS, 1, 9 * MIB));
  const long = await batches(buffer);
  expect(long).toHaveLength(WORKERS / 2);
  buffer.add([...claims(1, 2, 1_000), ...claims(1, 1)]);
  expect((await batches(buffer)).flat()).toHaveLength(2);
  buffer.finish(long[0] as Claim[]);
  expect(sizes(await batches(buffer))).toEqual([[9 * MIB]]);
});

it('keeps no other mail waiting while a message of 20 MB is under way', async () => {
  const buffer = openBuffer(false);
  buffer.add([...claims(2, 1, 20 * MIB), ...claims(2, 2, 100_000)]);
  // As a request, it takes five times its size, more than the budget.
  const [long, ...others] = await batches(buffer);
  expect(sizes([long as Claim[], ...others])).toEqual([[20 * MIB]]);
  buffer.add(claims(5, 1));
  expect((await batches(buffer)).flat()).toHaveLength(5);
  buffer.finish(long as Claim[]);
  expect(sizes(await batches(buffer))).toEqual([[100_000, 100_000]]);
});

it('lets no later letters go before one that waits for room', async () => {
  const buffer = openBuffer(false);
  buffer.add(claims(1, 2, MIB));
  const [under] = await batches(buffer);
  buffer.add([...claims(1, 1, 20 * MIB), ...claims(2, 2, MIB), ...claims(1, 3, 0), ...claims(1, 2)]);
  expect(sizes(await batches(buffer))).toEqual([[0], [null]]);
  buffer.finish(under as Claim[]);
  expect(sizes(await batches(buffer))).toEqual([[20 * MIB]]);
});

it('asks for other messages while letters wait for connections', () => {
  const buffer = openBuffer(true);
  buffer.add(claims(1_000, 1, 9 * MIB));
  const ofAccount = { class: 0, accountId: 1 };
  expect(buffer.wanted()).toBe(0);
  expect(buffer.wantedOfOthers()).toBeGreaterThan(0);
  expect(buffer.has({ ...ofAccount, queue: 'email_whole' })).toBe(true);
  expect(buffer.has({ ...ofAccount, queue: 'email' })).toBe(false);
  // Other senders may take further letters.
  expect(buffer.has({ class: 0, accountId: 2, queue: 'email_whole' })).toBe(true);
  buffer.add(claims(1, 1));
  expect(buffer.has({ ...ofAccount, queue: 'email' })).toBe(true);
});
