// A chunk is retried while that may help, and no longer.
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { advanceImport } from '../../../src/features/imports/run.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { attendance, importDeps, postImport, runToEnd } from '../../support/imports.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query(`truncate contacts, imports cascade;
    drop trigger if exists refuse_chunk on imports;
    drop sequence if exists chunk_tries; create sequence chunk_tries`);
});

/** Posts an import and inspects its file, so that its chunk is next. */
async function inspected(file = 'email\nada@example.com\n'): Promise<number> {
  const { body } = await postImport(api, { file });
  for (let n = 0; n < 2; n += 1) await advanceImport(importDeps(api), body.id, attendance);
  return body.id;
}

/** Lets each try of a chunk fail with the error, up to a number of tries. */
async function refuse(code: string, tries: number): Promise<void> {
  await api.database.pool.query(`
    create or replace function refuse_chunk() returns trigger language plpgsql as $$
    begin
      if nextval('chunk_tries') <= ${tries} then raise exception 'refused' using errcode = '${code}'; end if;
      return new;
    end $$;
    create trigger refuse_chunk before update of position on imports for each row execute function refuse_chunk()`);
}

const tries = async () =>
  (await api.database.pool.query<{ last_value: number }>('select last_value from chunk_tries')).rows[0]
    ?.last_value;

it('retries a chunk after a deadlock', async () => {
  const id = await inspected();
  await refuse('40P01', 2);
  expect(await runToEnd(api, id)).toMatchObject({ status: 'completed', created_count: 1 });
  expect(await tries()).toBe(3);
});

it('leaves a chunk that a newer version refuses to the engine', async () => {
  const id = await inspected();
  await refuse('40001', 2);
  await expect(advanceImport(importDeps(api), id, attendance)).rejects.toMatchObject({ code: '40001' });
  expect(await tries()).toBe(1);
});

it('closes the file when a chunk fails', async () => {
  const rows = Array.from({ length: 20_000 }, (_, n) => `p${n}@example.com`);
  const id = await inspected(['email', ...rows].join('\n'));
  await refuse('40001', 1);
  const deps = importDeps(api);
  const streams: Readable[] = [];
  const open: typeof deps.store.open = async (...args) => {
    const blob = await deps.store.open(...args);
    if (blob) streams.push(blob.stream);
    return blob;
  };
  const store = { ...deps.store, open };
  await expect(advanceImport({ ...deps, store }, id, attendance)).rejects.toMatchObject({ code: '40001' });
  expect(streams.map(({ destroyed }) => destroyed)).toEqual([true]);
});

it('stops retrying when the process stops', async () => {
  const id = await inspected();
  const stopping = new AbortController();
  await inTransaction(api.database.pool, async (trx) => {
    await trx.query('select 1 from imports where id = $1 for update', [id]);
    let failed = 0;
    const progress = () => {
      failed += 1;
      stopping.abort();
    };
    const advanced = advanceImport(importDeps(api), id, {
      ...attendance,
      stopping: stopping.signal,
      progress,
    });
    await expect(advanced).rejects.toMatchObject({ code: '55P03' });
    expect(failed).toBe(1);
  });
});
