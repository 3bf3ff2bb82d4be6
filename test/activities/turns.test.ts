// Long work of one account leaves a place free in which the work of another account begins at once.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import pino from 'pino';
import { createExportActivities } from '../../activities/exports.ts';
import { createFlowAudienceActivities } from '../../activities/flow-audience.ts';
import { createImportActivities } from '../../activities/imports.ts';
import { createValidationActivities } from '../../activities/validation.ts';
import { type Database, openDatabase } from '../../src/platform/db/database.ts';
import { startTestApi, type TestApi, type TestTenant } from '../support/api.ts';
import { testEvents } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { testKeyring } from '../support/webhooks.ts';

/** More than any of the activities has places. */
const MANY = 40;

let api: TestApi;
/** With as many connections as a worker has. */
let database: Database;
const stopping = new AbortController();
const log = pino({ level: 'silent' });
const waker = { wake: () => undefined };
const now = () => new Date().toISOString();

beforeAll(async () => {
  api = await startTestApi();
  const { DATABASE_URL: url } = api.config;
  database = openDatabase({ url: url ?? '', poolMax: 12 });
});
afterAll(async () => {
  stopping.abort();
  await database.close();
  await api.close();
});

/** What an activity does, and rows on which it waits for their lock. */
interface Kind {
  table: string;
  insert: string;
  run: (id: number) => Promise<unknown>;
}

function kinds(): Record<string, Kind> {
  const { config } = api;
  const deps = { config, database, log, waker, stopping: stopping.signal };
  const heavyReads = { run: () => Promise.reject(new Error('unused')), close: () => Promise.resolve() };
  const audience = createFlowAudienceActivities({ ...deps, heavyReads });
  const imports = createImportActivities({
    ...deps,
    keyring: testKeyring,
    events: testEvents,
  });
  const exporting = createExportActivities(deps);
  const validation = createValidationActivities({ ...deps, checker: {} as never });
  return {
    flows: {
      table: 'flows',
      insert: `insert into flows (account_id, brand_id, name) values ($1, $2, 'Welcome') returning id`,
      run: (id) => audience.matchAudience(id, now(), 1_000),
    },
    imports: {
      table: 'imports',
      insert: `insert into imports (account_id, brand_id, resource, filename, options)
               values ($1, $2, 'contacts', 'a.csv', '{}') returning id`,
      run: (id) => imports.advanceImport(id),
    },
    exports: {
      table: 'exports',
      insert: `insert into exports (account_id, brand_id, resource, status, started_at)
               values ($1, $2, 'contacts', 'processing', now()) returning id`,
      run: (id) => exporting.planExport(id, now()),
    },
    validation: {
      table: 'validation_operations',
      insert: `insert into validation_operations (account_id, brand_id, audience_kind, audience_ids, audience_digest,
                 max_contact_id, candidate_count, chargeable_count)
               values ($1, $2, 'contact_ids', '{}', decode(md5(random()::text), 'hex'), 0, 0, 0) returning id`,
      run: (id) => validation.advanceValidation(id, now()),
    },
  };
}

async function insertRows({ insert }: Kind, { accountId, brandId }: TestTenant, count: number) {
  const ids: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const { rows } = await api.database.pool.query<{ id: number }>(insert, [accountId, brandId]);
    ids.push(rows[0]?.id ?? 0);
  }
  return ids;
}

it.each(['flows', 'imports', 'exports', 'validation'])('are shared: %s', async (name) => {
  const kind = kinds()[name] as Kind;
  const { pool } = database;
  const run = (id: number) =>
    new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR', () => undefined) }).run(
      kind.run,
      id,
    );
  const ids = await insertRows(kind, api, MANY);
  const [other = 0] = await insertRows(kind, api.other, 1);
  const blocker = await pool.connect();
  try {
    await blocker.query(`begin; select from ${kind.table} where account_id = ${api.accountId} for update`);
    const running = ids.map((id) => run(id).catch(() => undefined));
    await eventually(async () => {
      const waiting = await blocker.query(
        `select 1 from pg_locks join pg_stat_activity using (pid) where datname = current_database() and not granted`,
      );
      expect(waiting.rows.length).toBeGreaterThan(0);
    });
    await run(other);
    await blocker.query('rollback');
    await Promise.all(running);
  } finally {
    blocker.release(true);
  }
});
