// Files of messages are stored in base64, as mails have them, and come back as they were.
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BlobTooLarge, newBlobKey, type BlobStore } from '../../../src/platform/storage/blob-store.ts';
import {
  fold,
  foldBase64,
  foldedSize,
  foldedStore,
  openFolded,
  readFolded,
  unfold,
} from '../../../src/platform/storage/folded.ts';
import { createLocalDiskStore } from '../../../src/platform/storage/local-disk.ts';

let folder: string;
let store: BlobStore;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-folded-'));
  store = createLocalDiskStore(folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function* cut(bytes: Buffer, cuts: readonly number[]): AsyncGenerator<Buffer> {
  let from = 0;
  for (const at of [...cuts].toSorted((one, other) => one - other)) {
    yield bytes.subarray(from, at);
    from = at;
  }
  yield bytes.subarray(from);
}

async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

/** As RFC 2045 describes it. */
const expectedFold = (bytes: Buffer) => bytes.toString('base64').replace(/.{1,76}/g, '$&\r\n');

/** Bytes and where they are cut: around the lengths of lines and of pieces. */
const cutBytes = fc
  .oneof(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 47_800, max: 96_000 }))
  .map((size) => randomBytes(size))
  .chain((bytes) =>
    fc.record({
      bytes: fc.constant(bytes),
      cuts: fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 6 }),
      foldedCuts: fc.array(fc.integer({ min: 0, max: foldedSize(bytes.length) }), { maxLength: 6 }),
    }),
  );

it('folds and unfolds at every cut', async () => {
  await fc.assert(
    fc.asyncProperty(cutBytes, async ({ bytes, cuts, foldedCuts }) => {
      const folded = await collect(fold(cut(bytes, cuts)));
      expect(folded.toString('latin1')).toBe(expectedFold(bytes));
      expect(folded.length).toBe(foldedSize(bytes.length));
      expect(foldBase64(bytes.toString('base64')).equals(folded)).toBe(true);
      const unfolded = await collect(unfold(cut(folded, foldedCuts)));
      expect(unfolded.equals(bytes)).toBe(true);
    }),
    { numRuns: 200 },
  );
});

it('stores a stream folded, and measures, bounds and returns its bytes', async () => {
  const bytes = randomBytes(100_000);
  const key = newBlobKey('attachments', 1);
  const folding = foldedStore(store);
  const stored = await folding.putStream(key, cut(bytes, [1, 70_000]), { maxBytes: bytes.length });
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  expect(stored).toEqual({ size: bytes.length, sha256 });
  expect((await store.open(key))?.size).toBe(foldedSize(bytes.length));
  const opened = await openFolded(store, key);
  expect(opened && (await collect(opened)).equals(bytes)).toBe(true);
  for (const [start, end] of [
    [0, 1],
    [56, 58],
    [57, 114],
    [99_999, 100_000],
    [500, 50_000],
    [7, 7],
  ] as const) {
    const part = await readFolded(store, key, start, end);
    expect(part.equals(bytes.subarray(start, end))).toBe(true);
  }
  const other = newBlobKey('attachments', 1);
  const tooLong = folding.putStream(other, cut(bytes, []), { maxBytes: bytes.length - 1 });
  await expect(tooLong).rejects.toThrow(BlobTooLarge);
  expect([await store.open(other), await openFolded(store, other)]).toEqual([null, null]);
});
