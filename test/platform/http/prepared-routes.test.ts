// A POST that prepares before its transaction is done once for a key, and leaves no wrong row whenever it fails.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { invalid } from '../../../src/errors.ts';
import { NotPreparedError } from '../../../src/platform/db/queryable.ts';
import { defineIdempotentRoute } from '../../../src/platform/http/route.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { createPreparedRoute, type PhaseHooks, PREPARED_PATH } from '../../support/prepared-route.ts';
import { runProgram, until } from '../../support/programs.ts';

let folder: string;
let api: TestApi;
/** The phases that ran, in order. */
let ran: string[];
let hooks: PhaseHooks;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'prepared-'));
  const route = createPreparedRoute(folder, {
    async prepare(name) {
      ran.push('prepare');
      await hooks.prepare?.(name);
    },
    async create(trx, name) {
      ran.push('create');
      await hooks.create?.(trx, name);
    },
  });
  api = await startTestApi({ extraRoutes: [route] });
});
afterAll(async () => {
  await api.close();
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  [ran, hooks] = [[], {}];
  await query('truncate idempotency_keys');
  await query('delete from uploads');
  for (const file of await readdir(folder)) await rm(join(folder, file));
});

const query = (text: string) => api.database.pool.query<{ storage_key: string }>(text);
const post = (name: string, key: string | null = 'key') =>
  api.request('POST', PREPARED_PATH, {
    body: { name },
    ...(key === null ? {} : { headers: { 'Idempotency-Key': key } }),
  });

/** What is there: rows, the files that they name, the files that no row names, and keys. */
async function left() {
  const { rows } = await query('select storage_key from uploads');
  const { rowCount: keys } = await query('select 1 from idempotency_keys');
  const named = new Set(rows.map(({ storage_key: file }) => file));
  const files = (await readdir(folder)).map((file) => join(folder, file));
  const orphans = files.filter((file) => !named.has(file)).length;
  return { rows: rows.length, files: files.length - orphans, orphans, keys };
}
const NOTHING = { rows: 0, files: 0, orphans: 0, keys: 0 };
const ONE = { rows: 1, files: 1, orphans: 0, keys: 1 };

/** A promise that the test resolves. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  return { opened: promise, open: () => resolve(undefined) };
}

describe('a POST that prepares', () => {
  it('prepares, then does the work', async () => {
    expect((await post('one')).status).toBe(201);
    expect([ran, await left()]).toEqual([['prepare', 'create'], ONE]);
  });

  it('does the same without a key', async () => {
    expect([(await post('one', null)).status, (await post('one', null)).status]).toEqual([201, 201]);
    expect(await left()).toEqual({ rows: 2, files: 2, orphans: 0, keys: 0 });
  });

  it('prepares nothing for a replay or another payload', async () => {
    const first = await post('one');
    const again = await post('one');
    expect([again.status, again.body.id]).toEqual([201, first.body.id]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect((await post('two')).body.code).toBe('idempotency_conflict');
    expect([ran, await left()]).toEqual([['prepare', 'create'], ONE]);
  });

  it('prepares again once the key has expired', async () => {
    await post('one');
    await query(`update idempotency_keys set created_at = now() - interval '8 days'`);
    expect((await post('two')).status).toBe(201);
    expect(ran).toEqual(['prepare', 'create', 'prepare', 'create']);
  });

  it('does the work once for requests at the same time, and discards what the others prepared', async () => {
    const all = gate();
    hooks.prepare = () => {
      if (ran.length === 4) all.open();
      return all.opened;
    };
    const answers = await Promise.all(Array.from({ length: 4 }, () => post('one')));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(ran).toEqual(['prepare', 'prepare', 'prepare', 'prepare', 'create']);
    expect(await left()).toEqual(ONE);
  });

  it('is refused by its preparation, and keeps no key', async () => {
    hooks.prepare = () => {
      throw invalid({ name: ['is refused'] });
    };
    for (const key of ['key', null]) {
      const refused = await post('one', key);
      expect([refused.status, refused.body.validation_errors]).toEqual([422, { name: ['is refused'] }]);
    }
    expect([ran, await left()]).toEqual([['prepare', 'prepare'], NOTHING]);
    hooks = {};
    expect((await post('two')).status).toBe(201);
  });

  it('is a replay if another request did the work while its preparation was refused', async () => {
    const [prepared, done] = [gate(), gate()];
    hooks.prepare = async () => {
      if (ran.length > 1) return;
      prepared.open();
      await done.opened;
      throw invalid({ name: ['is refused'] });
    };
    const slow = post('one');
    await prepared.opened;
    const fast = await post('one');
    done.open();
    expect([(await slow).status, (await slow).body.id]).toEqual([201, fast.body.id]);
    expect((await slow).headers.get('idempotent-replayed')).toBe('true');
    expect(await left()).toEqual(ONE);
  });

  it('discards what it has prepared if the work fails', async () => {
    hooks.create = () => {
      throw invalid({ name: ['is too late'] });
    };
    expect((await post('one')).status).toBe(422);
    expect(await left()).toEqual(NOTHING);
  });

  it('rolls the transaction back to prepare what the work has found missing, and works again', async () => {
    const open: number[] = [];
    const countOpen = async () => {
      const { rows } = await api.database.pool.query<{ open: number }>(
        `select count(*)::int as open from pg_stat_activity
         where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()`,
      );
      open.push(rows[0]?.open ?? -1, (await left()).rows);
    };
    hooks.create = () => {
      if (open.length < 4) throw new NotPreparedError(countOpen);
    };
    expect((await post('one')).status).toBe(201);
    expect(ran).toEqual(['prepare', 'create', 'create', 'create']);
    expect([open, await left()]).toEqual([[0, 0, 0, 0], ONE]);
  });
});

describe('a POST that prepares, if its connection is lost', () => {
  it('discards what it has prepared, if the work was not done', async () => {
    hooks.create = async (trx) => {
      await trx.query('select pg_terminate_backend(pg_backend_pid())');
    };
    expect((await post('one')).status).toBe(503);
    expect(await left()).toEqual(NOTHING);
    hooks = {};
    expect((await post('one')).status).toBe(201);
    expect(await left()).toEqual(ONE);
  });

  it('keeps what it has prepared, if the transaction may be committed', async () => {
    await query(
      `create function lose() returns trigger language plpgsql as
       'begin perform pg_terminate_backend(pg_backend_pid()); return null; end'`,
    );
    await query(
      `create constraint trigger lose after insert on uploads deferrable initially deferred
       for each row execute function lose()`,
    );
    expect((await post('one')).status).toBe(503);
    await query('drop trigger lose on uploads');
    expect(await left()).toEqual({ ...NOTHING, orphans: 1 });
    expect((await post('one')).status).toBe(201);
    expect(await left()).toEqual({ ...ONE, orphans: 1 });
  });
});

describe('a process that is killed', () => {
  it.each([
    ['prepare', NOTHING],
    ['create', { ...NOTHING, orphans: 1 }],
  ])('in the phase %s leaves no row and no key, and the request can be repeated', async (phase, remains) => {
    const { accountId, brandId } = api;
    const script = 'test/support/prepared-server.ts';
    const server = runProgram(script, [
      api.config.DATABASE_URL ?? '',
      folder,
      `${accountId}`,
      `${brandId}`,
      phase,
    ]);
    const printed = (pattern: RegExp) => until(() => pattern.exec(server.output()), server.output);
    const [, port] = await printed(/port (\d+)/);
    const lost = fetch(`http://127.0.0.1:${port}${PREPARED_PATH}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'key' },
      body: JSON.stringify({ name: 'one' }),
    }).catch(() => 'lost');
    await printed(new RegExp(`in ${phase}`));
    server.child.kill('SIGKILL');
    expect([await server.ended, await lost]).toEqual(['SIGKILL', 'lost']);
    expect(await left()).toEqual(remains);
    expect((await post('one')).status).toBe(201);
    expect(await left()).toMatchObject({ rows: 1, files: 1, keys: 1 });
  });
});

it('is declared with a way to a brand if its callers may have none', () => {
  const declare = () =>
    defineIdempotentRoute({
      path: '/v1/my/probe/brandless',
      operationId: 'probeBrandless',
      tag: 'Probe',
      summary: 'A key without a brand',
      auth: 'account',
      testKeys: 'refused',
      responses: { 201: { description: 'Nothing.', schema: null } },
      handler: () => Promise.resolve({ status: 201, body: null, resourceId: 1 }),
      load: () => Promise.resolve(null),
    });
  expect(declare).toThrow('ensureBrand');
});

it('is how every POST with a key works, unless many requests share a transaction or the key has no end', () => {
  const own = api.routes.filter(({ idempotency }) => idempotency === 'own');
  expect(own.map(({ operationId }) => operationId).sort()).toEqual([
    'resendMessage',
    'sendMessage',
    'sendMessageBatch',
    'startValidation',
    'trackEvent',
    'trackEvents',
  ]);
});
