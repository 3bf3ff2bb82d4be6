// Housekeeping removes only old files that no row refers to, and leaves other installations' folders alone.
import { mkdtemp, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { loadConfig } from '../../../src/config.ts';
import { upkeep } from '../../../src/features/upkeep.ts';
import {
  claimFolder,
  clearOrphanedFiles,
  sharesFolder,
} from '../../../src/platform/housekeeping/orphaned-files.ts';
import { newBlobKey, newDraftName, type BlobStore } from '../../../src/platform/storage/blob-store.ts';
import { createHomeStore } from '../../../src/platform/storage/local-disk.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

const asOf = new Date('2026-03-10T12:00:00Z');
const old = new Date('2026-03-09T11:59:00Z');
const young = new Date('2026-03-09T12:01:00Z');

let db: TestDatabase;
let home: string;
let store: BlobStore;
let accountId = 0;
let brandId = 0;

async function idOf(text: string, values: unknown[] = []): Promise<number> {
  const { rows } = await db.database.pool.query<{ id: number }>(text, values);
  return rows[0]?.id ?? 0;
}

async function putFile(writtenAt: Date): Promise<string> {
  const key = newBlobKey('uploads', accountId);
  await store.put(key, Buffer.from('x'));
  await utimes(join(home, 'blobs', key), writtenAt, writtenAt);
  return key;
}

/** Leaves the draft of a process that died while writing a blob. */
async function leaveDraft(writtenAt: Date): Promise<string> {
  const name = newDraftName(newBlobKey('uploads', accountId));
  const path = join(home, 'blobs', name);
  await writeFile(path, 'half');
  await utimes(path, writtenAt, writtenAt);
  return name;
}

const insertRow = (key: string) =>
  idOf(
    `insert into uploads (account_id, brand_id, filename, content_type, size, storage_key)
     values ($1, $2, 'a', 'text/plain', 1, $3) returning id`,
    [accountId, brandId, key],
  );

/** The path of a file that was set aside. */
const asidePath = (key: string) => join(home, 'blobs', 'orphaned', key);

/**
 * Lists the names of the account's files.
 * @param under a folder in the home
 */
async function filesIn(under: string): Promise<string[]> {
  return (await readdir(join(home, under, 'uploads', String(accountId)))).toSorted();
}
const kept = () => filesIn('blobs');
const setAside = () => filesIn('blobs/orphaned');
const names = (...keys: string[]) => keys.map((key) => basename(key)).toSorted();

function run(taskName = 'orphaned_files'): Promise<number> {
  const config = loadConfig({ CARILLON_HOME: home });
  const task = upkeep.tasks.find(({ name }) => name === taskName);
  if (!task) throw new Error('no such task');
  return task.run(
    { config, database: db.database, log: pino({ level: 'silent' }), ...upkeep },
    asOf,
    () => undefined,
  );
}

beforeAll(async () => {
  db = await createTestDatabase();
  accountId = await idOf('insert into accounts default values returning id');
  brandId = await idOf('insert into brands (account_id) values ($1) returning id', [accountId]);
}, 60_000);
beforeEach(async () => {
  await db.database.pool.query('truncate uploads');
  if (home) await rm(home, { recursive: true });
  home = await mkdtemp(join(tmpdir(), 'carillon-home-'));
  store = createHomeStore(home);
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
  await db.drop();
});

describe('housekeeping of uploaded files', () => {
  it('sets a file aside if no row refers to it a day after it was written', async () => {
    const named = await putFile(old);
    await insertRow(named);
    const orphan = await putFile(old);
    const underWay = await putFile(young);
    const startedAt = Date.now();
    expect(await run()).toBe(1);
    expect(await kept()).toEqual(names(named, underWay));
    expect(await setAside()).toEqual(names(orphan));
    const { mtimeMs } = await stat(asidePath(orphan));
    expect(mtimeMs).toBeGreaterThanOrEqual(startedAt - 1);
    expect(await run()).toBe(0);
  });

  it('removes a file 30 days after it was set aside', async () => {
    await insertRow(await putFile(old));
    const [early, late] = [await putFile(old), await putFile(old)];
    await run();
    const moments = [new Date('2026-02-08T11:59:00Z'), new Date('2026-02-08T12:01:00Z')] as const;
    await utimes(asidePath(early), moments[0], moments[0]);
    await utimes(asidePath(late), moments[1], moments[1]);
    expect(await run()).toBe(1);
    expect(await setAside()).toEqual(names(late));
  });

  it('does not remove a file that turns out to have a row, so that it can be moved back', async () => {
    await insertRow(await putFile(old));
    const orphan = await putFile(old);
    await run();
    await utimes(asidePath(orphan), new Date(0), new Date(0));
    await insertRow(orphan);
    expect(await run()).toBe(0);
    await rename(asidePath(orphan), join(home, 'blobs', orphan));
    expect(await run()).toBe(0);
    expect(await kept()).toContain(basename(orphan));
  });

  it('counts each file once if several processes set files aside at the same time', async () => {
    await insertRow(await putFile(old));
    const orphans: string[] = [];
    for (let made = 0; made < 50; made += 1) orphans.push(await putFile(old));
    const cleared = await Promise.all([run(), run(), run(), run()]);
    expect(cleared.reduce((sum, each) => sum + each)).toBe(50);
    expect(await setAside()).toEqual(names(...orphans));
  });

  it('sets aside submitted mails that were being read when their process died', async () => {
    const keys = [newBlobKey('submissions', accountId), newBlobKey('submissions', accountId)];
    for (const [n, key] of keys.entries()) {
      await store.put(key, Buffer.from('x'));
      const writtenAt = n === 0 ? old : young;
      await utimes(join(home, 'blobs', key), writtenAt, writtenAt);
    }
    await claimFolder(db.database.pool, store, () => Promise.resolve(true));
    const upload = await putFile(old);
    expect(await run('orphaned_submissions')).toBe(1);
    expect(await store.open(keys[0] ?? '')).toBeNull();
    expect((await stat(asidePath(keys[0] ?? ''))).size).toBe(1);
    expect((await stat(join(home, 'blobs', keys[1] ?? ''))).size).toBe(1);
    expect(await kept()).toEqual(names(upload));
  });

  it('removes half-written files after a day', async () => {
    const named = await putFile(old);
    await insertRow(named);
    await leaveDraft(old);
    const underWay = await leaveDraft(young);
    expect(await run()).toBe(1);
    expect(await kept()).toEqual(names(named, underWay));
  });

  it('removes only half-written files if the folder belongs to another database', async () => {
    await insertRow(newBlobKey('uploads', accountId));
    const others = [await putFile(old), await putFile(old)];
    await leaveDraft(old);
    const [early = ''] = others;
    await store.setAside([early], asOf);
    await utimes(asidePath(early), new Date(0), new Date(0));
    expect(await run()).toBe(1);
    expect(await kept()).toEqual(names(...others.slice(1)));
    expect(await setAside()).toEqual(names(early));
  });

  it('sets aside a file without a row, even if no row has a file any more', async () => {
    expect(await run()).toBe(0);
    const orphan = await putFile(old);
    expect(await run()).toBe(1);
    expect(await setAside()).toEqual(names(orphan));
  });

  it('leaves all files of a folder that another installation has claimed, even if rows refer to some', async () => {
    await store.claim('7d7a5f0e-0f4e-4f43-9c2c-2b8c7f0f3a11');
    const named = await putFile(old);
    await insertRow(named);
    const other = await putFile(old);
    expect(await run()).toBe(0);
    expect(await kept()).toEqual(names(named, other));
  });

  it('never gives a folder to a second installation', async () => {
    await run();
    const owner = await store.owner();
    await store.claim('7d7a5f0e-0f4e-4f43-9c2c-2b8c7f0f3a11');
    expect(owner).toMatch(/^[0-9a-f-]{36}$/);
    expect(await store.owner()).toBe(owner);
    expect(await readdir(join(home, 'blobs'))).toEqual(['installation']);
  });

  it('leaves files that are not uploads', async () => {
    const named = await putFile(old);
    await insertRow(named);
    const path = join(home, 'blobs', 'uploads', String(accountId), 'README');
    await writeFile(path, 'x');
    await utimes(path, old, old);
    expect(await run()).toBe(0);
    expect(await kept()).toEqual([...names(named), 'README'].toSorted());
  });

  it('does nothing if nothing was ever uploaded', async () => {
    expect(await run()).toBe(0);
  });
});

describe('the folder of stored files', () => {
  const claim = () => claimFolder(db.database.pool, store);

  it('belongs to the first installation that finds it empty', async () => {
    expect(await Promise.all([claim(), claim()])).toEqual(['ours', 'ours']);
  });

  it('is that of a sender once it has files or is claimed, and an empty one is not', async () => {
    const shares = () => sharesFolder(db.database.pool, store);
    expect(await shares()).toBe(false);
    await putFile(young);
    expect(await shares()).toBe(true);
    await store.claim('another');
    expect(await shares()).toBe(false);
  });

  // An API may store a file before the first worker starts, which is no reason to warn an operator.
  it('is unclaimed, and not that of another installation, if a file was stored first', async () => {
    await insertRow(await putFile(young));
    expect(await claim()).toBe('unclaimed');
    await run();
    expect(await claim()).toBe('ours');
  });

  it('is recognized as that of another installation', async () => {
    await store.claim('7d7a5f0e-0f4e-4f43-9c2c-2b8c7f0f3a11');
    expect(await claim()).toBe('foreign');
  });
});

describe('a row that is committed while its file is listed', () => {
  it('protects the file, because rows are looked up after the listing', async () => {
    // Claims the folder, so that it is listed only for the files.
    await run();
    const named = await putFile(old);
    await insertRow(named);
    const late = await putFile(old);
    const listing = store.list.bind(store);
    const lateStore: BlobStore = {
      ...store,
      async *list(kind, most) {
        for await (const batch of listing(kind, most)) {
          await insertRow(late);
          yield batch;
        }
      },
    };
    const removed = await clearOrphanedFiles({
      kind: 'uploads',
      keysSql: 'select id, storage_key as key from uploads',
      db: db.database.pool,
      store: lateStore,
      before: young,
      asideBefore: young,
      progress: () => undefined,
    });
    expect(removed).toBe(0);
    expect(await kept()).toEqual(names(named, late));
  });
});
