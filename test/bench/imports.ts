import { inTransaction } from '../../src/platform/db/queryable.ts';
import { newBlobKey } from '../../src/platform/storage/blob-store.ts';
import { createHomeStore } from '../../src/platform/storage/local-disk.ts';
import { importOptions } from '../../src/features/imports/schema.ts';
import { createImport } from '../../src/features/imports/service.ts';
import { rounded } from './machine.ts';
import { cpuPer } from './process-usage.ts';
import { startInteractive } from './programs.ts';
import { repeatRuns } from './runs.ts';
import { openStage, type Stage } from './stage.ts';

export interface ImportsBenchOptions {
  runs: number;
  rows: number;
  contacts: number;
}

const PLANS = ['free', 'pro', 'team'];
const BLOCK_ROWS = 1_000;

/** Six columns: address, two names, phone, country, and one of `data`. Rows are not sorted by address. */
export async function* fileOf(rows: number, first: number): AsyncIterable<Buffer> {
  yield Buffer.from('email,first_name,last_name,phone,country_code,plan\n');
  for (let from = 0; from < rows; from += BLOCK_ROWS) {
    let block = '';
    for (let n = from; n < Math.min(rows, from + BLOCK_ROWS); n += 1) {
      const id = first + ((n * 7_919) % rows);
      const phone = `+1415${String(5_000_000 + (id % 4_999_999)).padStart(7, '0')}`;
      block += `person.${id}@example.com,Ada,Lovelace,${id < 4_999_999 ? phone : ''},US,${PLANS[n % 3] ?? ''}\n`;
    }
    yield Buffer.from(block);
  }
}

/** How fast PostgreSQL loads the same columns with COPY, without an index. */
async function bareCopy({ database: { pool } }: Stage, rows: number): Promise<number> {
  await pool.query(`
    create table bare (email text, first_name text, last_name text, phone text, country_code text, data jsonb);
    do $$ begin execute format('copy (select ''person.'' || n || ''@example.com'', ''Ada'', ''Lovelace'',
      ''+1415'' || 5000000 + n, ''US'', ''{"plan": "pro"}'' from generate_series(1, ${rows}) n) to %L',
      current_setting('data_directory') || '/bare.txt'); end $$`);
  const startedAt = performance.now();
  await pool.query(
    `do $$ begin execute format('copy bare from %L', current_setting('data_directory') || '/bare.txt'); end $$`,
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  await pool.query('drop table bare');
  return rounded(rows / seconds, 0);
}

/** Imports a file in a separate process, like a worker does but without the engine. */
async function importFile(stage: Stage, rows: number, first: number) {
  const { accountId, brandId, settings } = stage;
  const store = createHomeStore(settings.CARILLON_HOME ?? '');
  const key = newBlobKey('imports', accountId);
  await store.putStream(key, fileOf(rows, first), { maxBytes: Infinity });
  const body = { resource: 'contacts' as const, options: importOptions.parse({}) };
  const tenant = { accountId, brandId };
  const file = { filename: 'bench.csv', key, bytes: 0 };
  const place = { publicUrl: '', quotaBytes: Infinity };
  const { id } = await inTransaction(stage.database.pool, (trx) =>
    createImport(trx, tenant, body, file, place),
  );
  const before = stage.postgresUsage();
  const { DATABASE_URL = '', CARILLON_HOME = '', APP_SECRET = '' } = settings;
  const inputs = [DATABASE_URL, CARILLON_HOME, APP_SECRET];
  const worker = await startInteractive('test/bench/import-worker.ts', inputs, 'worker');
  try {
    const done = await worker.ask(String(id));
    return {
      rows_per_second: rounded(rows / (done.seconds ?? 0), 0),
      created: done.created ?? 0,
      worker_cpu_us_per_row: rounded(((done.cpu ?? 0) * 1e6) / rows),
      postgres_cpu_us_per_row: cpuPer(before, stage.postgresUsage(), rows),
      worker_peak_mib: rounded(done.peak ?? 0, 0),
    };
  } finally {
    await worker.stop();
  }
}

async function oneRun({ rows, contacts }: ImportsBenchOptions) {
  const stage = await openStage();
  try {
    const copied = await bareCopy(stage, rows);
    const empty = await importFile(stage, rows, 0);
    // Further contacts, besides those that the second import changes.
    if (contacts > rows) await importFile(stage, contacts - rows, rows);
    await stage.database.pool.query('vacuum analyze contacts');
    const half = Math.floor(rows / 2);
    // Half of the rows are already contacts.
    const full = await importFile(stage, rows, Math.max(contacts, rows) - half);
    return { bare_copy_rows_per_second: copied, empty, full };
  } finally {
    await stage.close();
  }
}

/** `npm run bench -- imports`: rows/s of an import into an empty brand and into a full one. */
export async function benchImports(options: ImportsBenchOptions) {
  const { runs, of } = await repeatRuns(options.runs, () => oneRun(options));
  return {
    runs,
    medians: {
      bare_copy_rows_per_second: of((run) => run.bare_copy_rows_per_second),
      empty_rows_per_second: of((run) => run.empty.rows_per_second),
      full_rows_per_second: of((run) => run.full.rows_per_second),
      worker_peak_mib: of((run) => Math.max(run.empty.worker_peak_mib, run.full.worker_peak_mib)),
    },
  };
}
