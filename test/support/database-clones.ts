import pg from 'pg';

/** Databases cloned from the template in advance, for the test files that need them. */
export interface DatabaseClones {
  /** Returns the name of a database that no other test file gets. */
  take(): Promise<string>;
  /** Drops a database, even if clients are still connected. */
  drop(name: string): Promise<void>;
  close(): Promise<void>;
}

/** More than the workers of a run take at once. */
const AHEAD = 4;

/** @param adminUrl of the server @param template the name of the database to clone */
export async function createClones(adminUrl: string, template: string): Promise<DatabaseClones> {
  const pool = new pg.Pool({ connectionString: adminUrl, max: AHEAD });
  // The server may stop before an idle connection has ended.
  pool.on('error', () => undefined);
  let made = 0;
  const make = async () => {
    made += 1;
    const name = `test_${made}`;
    // Copying the files costs half as much as PostgreSQL's default, which logs each page.
    await pool.query(`create database ${name} template ${template} strategy file_copy`);
    return name;
  };
  const ahead: Promise<string>[] = [];
  const prepare = () => {
    const clone = make();
    // The test file that takes it sees the error.
    clone.catch(() => undefined);
    ahead.push(clone);
  };
  for (let n = 0; n < AHEAD; n += 1) prepare();
  return {
    take() {
      prepare();
      return ahead.shift() as Promise<string>;
    },
    async drop(name) {
      await pool.query(`drop database if exists ${name} with (force)`);
    },
    async close() {
      await Promise.allSettled(ahead);
      await pool.end();
    },
  };
}
