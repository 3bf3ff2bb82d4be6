import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createAccount } from '../../src/features/accounts/service.ts';
import { createApiKey } from '../../src/features/api-keys/service.ts';
import { upkeep } from '../../src/features/upkeep.ts';
import { createGuard } from '../../src/local/machine/guard.ts';
import { claimPort } from '../../src/local/machine/ports.ts';
import { startPostgres } from '../../src/local/postgres/server.ts';
import { type Database, openDatabase } from '../../src/platform/db/database.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { createOpenFolder } from '../support/open-folder.ts';
import { usageOfFamily, type Usage } from './process-usage.ts';

/** Who owns the account. */
export const OWNER = { email: 'owner@bench.test', password: 'correct horse battery staple' };

/** A durable PostgreSQL with one account, and the settings that the roles need. */
export interface Stage {
  database: Database;
  accountId: number;
  brandId: number;
  apiKey: string;
  apiPort: number;
  settings: Record<string, string>;
  postgresUsage(): Usage;
  /** Restarts the server on the same port, with empty buffers. */
  restartPostgres(): Promise<void>;
  close(): Promise<void>;
}

async function executeAt(url: string, statement: string): Promise<void> {
  const database = openDatabase({ url, poolMax: 1 });
  await database.pool.query(statement);
  await database.close();
}

/** @param options.statements whether the server records the cost of each statement, in `pg_stat_statements` */
export async function openStage(options: { statements?: boolean } = {}): Promise<Stage> {
  const folder = createOpenFolder('carillon-bench-');
  const guard = createGuard();
  const server = { folder: join(folder, 'postgres'), port: 0, guard };
  let postgres = await startPostgres(server);
  if (options.statements) {
    await executeAt(postgres.url(), `alter system set shared_preload_libraries = 'pg_stat_statements'`);
    await postgres.stop();
    postgres = await startPostgres(server);
    await executeAt(postgres.url(), 'create extension pg_stat_statements');
  }
  const url = postgres.url();
  await migrate(url, upkeep.partitions);
  const database = openDatabase({ url, poolMax: 4 });
  const account = await inTransaction(database.pool, (trx) =>
    createAccount(trx, { name: 'Bench', tier: 'trusted', sandboxMonthlyCap: 100_000_000, owner: OWNER }),
  );
  const accountId = account.account.id;
  const { key } = await createApiKey(database.pool, { accountId, rateLimitPerSecond: 0 });
  await database.pool.query('update accounts set allowance_per_day = 100000000 where id = $1', [accountId]);
  const apiPort = await claimPort(0, 'PORT');
  return {
    database,
    accountId,
    brandId: account.brandId,
    apiKey: key,
    apiPort,
    settings: {
      DATABASE_URL: url,
      PORT: String(apiPort),
      APP_SECRET: 'a secret of the benchmark that is long enough',
      MAIL_DOMAIN: 'mail.bench.test',
      CARILLON_HOME: folder,
      TEMPORAL_ADDRESS: '127.0.0.1:1',
    },
    postgresUsage: () => usageOfFamily(postgres.pid),
    async restartPostgres() {
      const { port } = postgres;
      await postgres.stop();
      postgres = await startPostgres({ ...server, port });
    },
    async close() {
      await database.close();
      await postgres.stop();
      await guard.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
