/** The file `docs/schema.sql`: what all migrations make of an empty database. `write-schema.ts` writes it. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { createGuard } from '../../src/local/machine/guard.ts';
import { startPostgres } from '../../src/local/postgres/server.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { createFastFolder } from '../support/open-folder.ts';
import { readCatalogue } from './catalogue.ts';
import { schemaText } from './schema-text.ts';

export const SCHEMA_FILE = 'docs/schema.sql';

const HEADER = `-- The database after all migrations. Written by npm run schema: see docs/migrations.md.
-- To read, not to run: everything is in the order of names. A comment above a table, a column or a function is the one
-- that the database has. Left out are partitions, the tables' rows, and functions with a hash in their name.
`;

/** Calls `work` with the URL of a new server, which is removed afterwards. */
async function withServer<T>(work: (url: string) => Promise<T>): Promise<T> {
  const guard = createGuard();
  const folder = createFastFolder('carillon-schema-');
  try {
    const options = { folder: join(folder, 'postgres'), port: 0, guard, durable: false, sharedBuffersMb: 64 };
    const server = await startPostgres(options);
    try {
      return await work(server.url());
    } finally {
      await server.stop();
    }
  } finally {
    await guard.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** @returns what the file must contain */
export function composeSchema(): Promise<string> {
  return withServer(async (url) => {
    await migrate(url, []);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return `${HEADER}\n${schemaText(await readCatalogue(client, 'public'), 'public')}\n`;
    } finally {
      await client.end();
    }
  });
}

/** @returns what is wrong with the committed file, if anything */
export async function findSchemaFaults(committed: string): Promise<string[]> {
  const [composed, lines] = [(await composeSchema()).split('\n'), committed.split('\n')];
  const length = Math.max(composed.length, lines.length);
  const at = Array.from({ length }, (_, n) => n).find((n) => composed[n] !== lines[n]);
  if (at === undefined) return [];
  return [
    `${SCHEMA_FILE}:${at + 1}: differs from the migrations: npm run schema writes it. The migrations make:`,
    `  ${composed[at] ?? '(the end)'}`,
  ];
}
