import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import type pg from 'pg';
import { ConfigError, loadConfig, requireSettings, type Config } from '../config.ts';
import { readDevFile } from '../local/home/dev-file.ts';
import { developmentSettings } from '../local/home/settings.ts';
import { LocalError } from '../local/machine/local-error.ts';
import { readIfThere } from '../local/machine/secret-file.ts';
import { insertOperatorEntry } from '../platform/audit/entries.ts';
import { connectionProblem } from '../platform/db/connection-problem.ts';
import { openDatabase, type Database } from '../platform/db/database.ts';
import { inTransaction, type Queryable } from '../platform/db/queryable.ts';
import type { Keyring } from '../platform/secrets/keyring.ts';
import { readKeyring } from '../platform/secrets/stored-keys.ts';
import type { CarillonCommand } from './command.ts';

/** The settings and the database of a command. */
export interface CommandContext {
  config: Config;
  database: Database;
  /** Null without APP_SECRET, which only some commands need: see {@link requireKeyring}. */
  keyring: Keyring | null;
}

/** @throws ConfigError without APP_SECRET */
export function requireKeyring({ config, keyring }: CommandContext): Keyring {
  requireSettings(config, 'APP_SECRET');
  return keyring as Keyring;
}

/**
 * Reads the settings of a command. Without DATABASE_URL, it uses the settings of the development start that is running
 * in CARILLON_HOME. Its URL is the public one, unless PUBLIC_URL is set.
 * @throws ConfigError if neither is available
 */
export async function commandConfig({ io }: CarillonCommand): Promise<Config> {
  const config = loadConfig(io.env);
  const home = resolve(config.CARILLON_HOME);
  const running = await readDevFile(join(home, 'dev.json'));
  if (config.DATABASE_URL) {
    const isDevelopment = running?.database_url === config.DATABASE_URL;
    return isDevelopment ? { ...config, PUBLIC_URL: config.PUBLIC_URL ?? running.base_url } : config;
  }
  if (!running) {
    throw new ConfigError('no database: set DATABASE_URL, or run npm start first and keep it running');
  }
  const hasSecret = (await readIfThere(join(home, 'app-secret'))) !== undefined;
  const complete = hasSecret ? await developmentSettings(config, home) : config;
  const PUBLIC_URL = config.PUBLIC_URL ?? running.base_url;
  return { ...complete, DATABASE_URL: running.database_url, PUBLIC_URL };
}

/** Opens the keys before a command does anything, so that a wrong APP_SECRET changes nothing. */
async function keyringOf(config: Config, { pool }: Database): Promise<Keyring | null> {
  if (config.APP_SECRET === undefined) return null;
  // Imported on first use: it is only needed until a role of this version has started.
  const first = async () => (await import('../features/upkeep.ts')).upkeep;
  return readKeyring(pool, config, first);
}

/**
 * Opens the database for the work of a command, and closes it afterwards.
 * @throws LocalError if the database cannot be used; ConfigError if it does not know APP_SECRET
 */
export async function withDatabase<T>(
  command: CarillonCommand,
  work: (context: CommandContext) => Promise<T>,
): Promise<T> {
  const config = await commandConfig(command);
  const { DATABASE_URL: url } = requireSettings(config, 'DATABASE_URL');
  const database = openDatabase({ url, poolMax: 2, applicationName: 'carillon command' });
  try {
    return await work({ config, database, keyring: await keyringOf(config, database) });
  } catch (error) {
    const problem = connectionProblem(error, url);
    throw problem === null ? error : new LocalError(problem, { cause: error });
  } finally {
    await database.close();
  }
}

/**
 * The person who runs the command, for the log of operators' changes: CARILLON_OPERATOR, else the user of the operating
 * system.
 */
export function operatorName({ CARILLON_OPERATOR: name }: Pick<Config, 'CARILLON_OPERATOR'>): string {
  if (name !== undefined) return name;
  try {
    return userInfo().username;
  } catch {
    // A container may run under a number that no user has.
    return 'operator';
  }
}

/**
 * Records a change by an operator in the audit log.
 * @param subject as for `insertOperatorEntry`
 * @param action the command
 */
export function recordOperator(
  trx: Queryable,
  config: Pick<Config, 'CARILLON_OPERATOR'>,
  subject: { accountId: number } | { userId: number },
  action: string,
  resourceId: number,
): Promise<void> {
  return insertOperatorEntry(trx, subject, { action, operator: operatorName(config), resourceId });
}

/** What the audit log of an account says of a change. */
export interface ChangeEntry {
  accountId: number;
  resourceId: number;
}

/** The entry about something that an account has, from its row. */
export const ofRow = ({
  account_id: accountId,
  id: resourceId,
}: {
  account_id: number;
  id: number;
}): ChangeEntry => ({
  accountId,
  resourceId,
});

/** The entry about an account itself. */
export const ofAccount = (accountId: number): ChangeEntry => ({ accountId, resourceId: accountId });

/**
 * Makes a change of an operator to one account in a transaction, and records it in the audit log of the account.
 * @param action the command, such as `wallet credit`
 * @param work makes the change
 * @param entryOf says which account and what in it was changed
 */
export function changeAccount<T>(
  command: CarillonCommand,
  action: string,
  work: (trx: pg.PoolClient, context: CommandContext) => Promise<T>,
  entryOf: (result: T) => ChangeEntry,
): Promise<T> {
  return withDatabase(command, (context) =>
    inTransaction(context.database.pool, async (trx) => {
      const result = await work(trx, context);
      const { accountId, resourceId } = entryOf(result);
      await recordOperator(trx, context.config, { accountId }, action, resourceId);
      return result;
    }),
  );
}

/** A line of output for people: a name and its value. */
export type Field = [name: string, value: unknown];

/** Renames `accountId` to `account_id` at every depth: the JSON has the names of the API. */
function underscored(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(underscored);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const name = (key: string) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [name(key), underscored(inner)]));
}

/**
 * Prints the result of a command: as JSON with `--json`, otherwise as text.
 * @param text the result for people
 */
export function print(command: CarillonCommand, result: unknown, text: string): void {
  const { json } = command.optsWithGlobals<{ json?: boolean }>();
  command.io.stdout.write(json ? `${JSON.stringify(underscored(result), null, 2)}\n` : `${text}\n`);
}

/** Formats fields one per line, with aligned values. Fields without a value are left out. */
export function fieldLines(fields: Field[]): string {
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields
    .filter(([, value]) => value !== null && value !== undefined && value !== '')
    .map(
      ([name, value]) =>
        `${name.padEnd(width)}  ${value instanceof Date ? value.toISOString() : String(value)}`,
    )
    .join('\n');
}
