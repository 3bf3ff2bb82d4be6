// The local disk store keeps blobs exactly, private and inside its folder, and stores nothing partial.
import { mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  BlobTooLarge,
  newBlobKey,
  newDraftName,
  type BlobListing,
  type BlobStore,
} from '../../../src/platform/storage/blob-store.ts';
import { createLocalDiskStore } from '../../../src/platform/storage/local-disk.ts';
import { eventually } from '../../support/eventually.ts';

let folder: string;
let store: BlobStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-blobs-'));
  store = createLocalDiskStore(join(folder, 'blobs'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('a store on local disk', () => {
  it('returns a blob as it was stored', async () => {
    const key = newBlobKey('uploads', 7);
    const bytes = Buffer.from([0, 1, 2, 253, 254, 255]);
    await store.put(key, bytes);
    const blob = await store.open(key);
    expect(blob?.size).toBe(6);
    expect(blob && (await buffer(blob.stream))).toEqual(bytes);
  });

  it('stores a stream, and measures it', async () => {
    const key = newBlobKey('imports', 7);
    const stored = await store.putStream(key, Readable.from([Buffer.from('ab'), Buffer.from('c')]), {
      maxBytes: 3,
    });
    // SHA-256 of "abc", FIPS 180-4.
    const sha256 = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
    expect(stored).toEqual({ size: 3, sha256 });
    const blob = await store.open(key);
    expect(blob && (await text(blob.stream))).toBe('abc');
  });

  it('reads a blob from a byte on', async () => {
    const key = newBlobKey('exports', 7);
    await store.put(key, Buffer.from('abcdef'));
    for (const [start, rest] of [
      [4, 'ef'],
      [6, ''],
      [9, ''],
    ] as const) {
      const blob = await store.open(key, start);
      expect(blob?.size).toBe(6);
      expect(blob && (await text(blob.stream))).toBe(rest);
    }
  });

  it('stores nothing of a stream that is too long or fails', async () => {
    const long = store.putStream(newBlobKey('imports', 7), Readable.from([Buffer.from('abcd')]), {
      maxBytes: 3,
    });
    await expect(long).rejects.toThrow(new BlobTooLarge(3));
    const broken = new Readable({ read: () => undefined });
    broken.push('half');
    const stored = store.putStream(newBlobKey('imports', 7), broken, { maxBytes: 100 });
    const path = join(folder, 'blobs', 'imports', '7');
    await eventually(async () => expect(await readdir(path)).toHaveLength(1));
    broken.destroy(new Error('the client disconnected'));
    await expect(stored).rejects.toThrow('the client disconnected');
    expect(await readdir(path)).toEqual([]);
  });

  it('hides blobs from other users of the machine, and leaves no draft behind', async () => {
    const key = newBlobKey('uploads', 7);
    await store.put(key, Buffer.from('secret'));
    const path = join(folder, 'blobs', key);
    expect((await stat(path)).mode & 0o077).toBe(0);
    expect(await readdir(dirname(path))).toHaveLength(1);
  });

  it('returns null for a missing blob', async () => {
    expect(await store.open(newBlobKey('uploads', 7))).toBeNull();
  });

  it('removes a blob, and ignores a second removal', async () => {
    const key = newBlobKey('uploads', 7);
    await store.put(key, Buffer.from('x'));
    await store.remove(key);
    await store.remove(key);
    expect(await store.open(key)).toBeNull();
  });

  it('leaves nothing behind if a blob cannot be written', async () => {
    const key = newBlobKey('uploads', 7);
    await writeFile(join(folder, 'blobs'), 'a file where the folder should be');
    await expect(store.put(key, Buffer.from('x'))).rejects.toThrow(/EEXIST|ENOTDIR/);
    expect(await store.open(key)).toBeNull();
  });

  it.each(['../secret', 'uploads/7/../../x', '/etc/passwd', 'uploads/7/ABC', ''])(
    'refuses the key %j',
    async (key) => {
      await expect(store.open(key)).rejects.toThrow('not a key of a blob');
      await expect(store.put(key, Buffer.from('x'))).rejects.toThrow('not a key of a blob');
      await expect(store.remove(key)).rejects.toThrow('not a key of a blob');
    },
  );

  it('lists blobs and drafts in batches of the given size, and no other files', async () => {
    const keys = [1, 1, 1, 2, 2].map((account) => newBlobKey('uploads', account));
    for (const key of keys) await store.put(key, Buffer.from('x'));
    const draft = newDraftName(newBlobKey('uploads', 2));
    for (const name of [draft, 'uploads/2/README', 'uploads/7', 'README'])
      await writeFile(join(folder, 'blobs', name), 'x');
    const found: BlobListing[] = [];
    for await (const listing of store.list('uploads', 2)) found.push(listing);
    expect(found.flatMap((listing) => listing.keys).toSorted()).toEqual(keys.toSorted());
    expect(found.flatMap((listing) => listing.drafts)).toEqual([draft]);
    expect(found.map(({ keys, drafts }) => keys.length + drafts.length)).toEqual([2, 2, 2, 0]);
  });

  it('removes old blobs and drafts, and ignores those that are gone', async () => {
    const [old, young, gone] = [1, 1, 1].map((account) => newBlobKey('uploads', account));
    if (!old || !young || !gone) throw new Error('no keys');
    for (const key of [old, young]) await store.put(key, Buffer.from('x'));
    const draft = newDraftName(old);
    await writeFile(join(folder, 'blobs', draft), 'x');
    const long = new Date(Date.now() - 60_000);
    for (const name of [old, draft]) await utimes(join(folder, 'blobs', name), long, long);
    const before = new Date(Date.now() - 30_000);
    expect(await store.removeOlder([old, draft, young, gone], before)).toBe(2);
    expect(await readdir(join(folder, 'blobs', 'uploads', '1'))).toEqual([basename(young)]);
    await expect(store.removeOlder(['../secret'], before)).rejects.toThrow('not a name of a blob');
  });

  it('sets old blobs aside under their keys with the time of the move, and ignores those that are gone', async () => {
    const [old, young, gone] = [1, 1, 1].map((account) => newBlobKey('uploads', account));
    if (!old || !young || !gone) throw new Error('no keys');
    for (const key of [old, young]) await store.put(key, Buffer.from('x'));
    const long = new Date(Date.now() - 60_000);
    await utimes(join(folder, 'blobs', old), long, long);
    const before = new Date(Date.now() - 30_000);
    expect(await store.setAside([old, young, gone], before)).toBe(1);
    expect(await store.open(old)).toBeNull();
    const listed: BlobListing[] = [];
    for await (const listing of store.aside.list('uploads', 10)) listed.push(listing);
    expect(listed).toEqual([{ keys: [old], drafts: [] }]);
    expect((await stat(join(folder, 'blobs', 'orphaned', 'uploads'))).mode & 0o077).toBe(0);
    expect(await store.aside.removeOlder([old], before)).toBe(0);
    expect(await store.aside.removeOlder([old], new Date(Date.now() + 1_000))).toBe(1);
    await expect(store.setAside(['../secret'], before)).rejects.toThrow('not a key of a blob');
  });

  it('creates unique keys', () => {
    const keys = Array.from({ length: 100 }, () => newBlobKey('uploads', 1));
    expect(new Set(keys).size).toBe(100);
  });
});
