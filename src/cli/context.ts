import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { ConfigError, loadConfig, requireSettings, type Config } from '../config.ts';
import { readDevFile } from '../local/home/dev-file.ts';
import { developmentSettings } from '../local/home/settings.ts';
import { LocalError, systemCode } from '../local/machine/local-error.ts';
import { readIfThere } from '../local/machine/secret-file.ts';
import { openDatabase, type Database } from '../platform/db/database.ts';

/** What a command works with. */
export interface CommandContext {
  config: Config;
  database: Database;
}

/**
 * Settings of a command; where no database is set, those of the development start in CARILLON_HOME.
 * @throws ConfigError naming what is missing
 */
export async function commandConfig(): Promise<Config> {
  const config = loadConfig();
  if (config.DATABASE_URL) return config;
  const home = resolve(config.CARILLON_HOME);
  const running = await readDevFile(join(home, 'dev.json'));
  if (!running) {
    throw new ConfigError('no database: set DATABASE_URL, or run npm start first and leave it running');
  }
  const hasSecret = (await readIfThere(join(home, 'app-secret'))) !== undefined;
  const complete = hasSecret ? await developmentSettings(config, home) : config;
  return { ...complete, DATABASE_URL: running.database_url };
}

/**
 * Run a command's work on the database and close it.
 * @throws LocalError where the database cannot be reached
 */
export async function withDatabase<T>(work: (context: CommandContext) => Promise<T>): Promise<T> {
  const config = await commandConfig();
  const { DATABASE_URL: url } = requireSettings(config, 'DATABASE_URL');
  const database = openDatabase({ url, poolMax: 2, applicationName: 'carillon command' });
  try {
    return await work({ config, database });
  } catch (error) {
    if (!/^(ECONN|ENOTFOUND|ETIMEDOUT|28|3D)/.test(systemCode(error))) throw error;
    throw new LocalError(
      `the database does not answer (${systemCode(error)}): is it, or npm start, running?`,
    );
  } finally {
    await database.close();
  }
}

/** One fact for a person to read: its name and value. */
export type Fact = [name: string, value: unknown];

/** `sendingPausedAt` becomes `sending_paused_at`, at every depth: names are those of the API. */
function underscored(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(underscored);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const name = (key: string) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [name(key), underscored(inner)]));
}

/**
 * Print a command's result: JSON with `--json`, else the text.
 * @param text lines for a person
 */
export function print(command: Command, result: unknown, text: string): void {
  const { json } = command.optsWithGlobals<{ json?: boolean }>();
  process.stdout.write(json ? `${JSON.stringify(underscored(result), null, 2)}\n` : `${text}\n`);
}

/** Facts under one another, their values in line. */
export function factLines(facts: Fact[]): string {
  const width = Math.max(...facts.map(([name]) => name.length));
  return facts
    .filter(([, value]) => value !== null && value !== undefined && value !== '')
    .map(
      ([name, value]) =>
        `${name.padEnd(width)}  ${value instanceof Date ? value.toISOString() : String(value)}`,
    )
    .join('\n');
}
