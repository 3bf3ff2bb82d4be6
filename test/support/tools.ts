import { accessSync, constants, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { loadConfig } from '../../src/config.ts';
import { findEngineProgram } from '../../src/local/engine/program.ts';
import { cacheFolder, type Progress } from '../../src/local/machine/cache.ts';
import { findGenerators } from './generators/tools.ts';
import { findMcpClients } from './mcp-clients/tools.ts';
import { findSchemathesis } from './schemathesis/program.ts';
import { findTimeSkippingServer } from './time-skipping/server.ts';

/** Tools that a machine may lack. The tests that need a missing one are skipped. */
export type OptionalTool =
  | 'smtp-sink'
  | 'postfix'
  | 'swaks'
  | 'clamd'
  | 'chromium'
  | 'time-skipping server'
  | 'schemathesis'
  | 'generators'
  | 'mcp-clients';

/** Why each of the missing tools is missing, and what to do. */
export type MissingTools = Partial<Record<OptionalTool, string>>;

const MISSING_TOOLS = 'CARILLON_TEST_MISSING_TOOLS';

/** Records which tools the machine lacks, for the test files and the reporter of this run. */
export function announceMissingTools(missing: MissingTools): void {
  process.env[MISSING_TOOLS] = JSON.stringify(missing);
}

/** The tools that this run lacks, as found by its global setup. */
export function missingTools(): MissingTools {
  return JSON.parse(process.env[MISSING_TOOLS] ?? '{}') as MissingTools;
}

const progress: Progress = (line) => process.stderr.write(`${line}\n`);

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The usual folders of servers are not in every user's PATH. */
function findProgram(name: string, ...folders: string[]): string | undefined {
  const all = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', ...folders];
  return all.map((folder) => join(folder, name)).find(isExecutable);
}

/** Returns the path of Postfix's `smtp-sink`. */
export function findSmtpSink(): string | undefined {
  return findProgram('smtp-sink', '/usr/libexec/postfix');
}

/** Returns why no Postfix can be started as a smarthost, with what it needs to log in. */
function lackOfPostfix(): string | undefined {
  const packages = '(Debian: apt-get install postfix libsasl2-modules)';
  if (!findProgram('postfix')) return `no postfix: install it ${packages}`;
  const folders = ['/usr/lib64', ...readdirSync('/usr/lib').map((name) => join('/usr/lib', name))];
  if (!folders.some((folder) => isExecutable(join(folder, 'sasl2'))))
    return `no SASL modules: install them ${packages}`;
  return process.getuid?.() === 0 ? undefined : 'only root can start Postfix';
}

/** Returns the path of ClamAV's `clamd`. */
export function findClamd(): string | undefined {
  return findProgram('clamd');
}

/** Returns the path of Chromium or Chrome: that in `CHROMIUM_PATH`, or the first of the usual names. */
export function findChromium(): string | undefined {
  if (process.env.CHROMIUM_PATH) return process.env.CHROMIUM_PATH;
  const names = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
  return names.map((name) => findProgram(name)).find((path) => path !== undefined);
}

/** Returns why `get` failed, or nothing if it succeeded. */
async function failureOf(get: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await get();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The cache folder. */
export function toolCache(): Promise<string> {
  const config = loadConfig();
  return cacheFolder(config.CARILLON_CACHE, config.XDG_CACHE_HOME);
}

/**
 * Puts the Temporal engine, the time-skipping server, Schemathesis, the client generators and the clients of MCP into the cache. On a bare
 * machine this takes minutes, too long for a test's time limit. Processes that ask at the same time wait for the first.
 */
export async function getTools(): Promise<{ cache: string; missing: MissingTools }> {
  const cache = await toolCache();
  // Without an engine, the tests that need it fail, each with the reason.
  const engine = await failureOf(() => findEngineProgram({ cache, progress }));
  if (engine) progress(engine);
  const timeSkipping = await failureOf(() => findTimeSkippingServer(cache, progress));
  const [schemathesis, generators, mcpClients] = await Promise.all([
    failureOf(() => findSchemathesis(cache, progress)),
    failureOf(() => findGenerators(cache, progress)),
    failureOf(() => findMcpClients(cache, progress)),
  ]);
  const sink = findSmtpSink() ? undefined : 'no smtp-sink: install Postfix (Debian: apt-get install postfix)';
  const postfix = lackOfPostfix();
  const swaks = findProgram('swaks') ? undefined : 'no swaks: install it (Debian: apt-get install swaks)';
  const clamd = findClamd() ? undefined : 'no clamd: install ClamAV (Debian: apt-get install clamav-daemon)';
  const chromium = findChromium() ? undefined : 'no Chromium: install it (Debian: apt-get install chromium)';
  return {
    cache,
    missing: {
      ...(timeSkipping && { 'time-skipping server': timeSkipping }),
      ...(sink && { 'smtp-sink': sink }),
      ...(postfix && { postfix }),
      ...(swaks && { swaks }),
      ...(clamd && { clamd }),
      ...(chromium && { chromium }),
      ...(schemathesis && { schemathesis }),
      ...(generators && { generators }),
      ...(mcpClients && { 'mcp-clients': mcpClients }),
    },
  };
}
