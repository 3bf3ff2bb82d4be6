import { fileURLToPath } from 'node:url';
import { ConfigError, loadConfig, requireSettings, type Config } from '../config.ts';
import { upkeep } from '../features/upkeep.ts';
import { provideConsole } from '../local/console/build.ts';
import { banner } from '../local/home/dev-file.ts';
import { emptyHome, openHome, type Home } from '../local/home/home.ts';
import { developmentSettings } from '../local/home/settings.ts';
import { supervise, type Supervisor } from '../local/supervisor/supervisor.ts';
import { createLogger } from '../log.ts';
import { engineTls } from '../platform/temporal/tls.ts';
import { roles } from '../roles/names.ts';
import type { CommandIo } from './command.ts';
import { ENDED_EARLY, endWithNpm, takeStopRequests } from './stop-requests.ts';

export interface StartEverythingOptions {
  /** The settings. */
  env: CommandIo['env'];
  dev: boolean;
  reset: boolean;
  /** Print the contents of `dev.json` as one line of JSON instead of the banner. */
  json: boolean;
  /** Program and arguments that start a role; its name is appended. By default this program. */
  roleCommand?: string[];
}

const NO_PROVIDER =
  'no EMAIL_PROVIDER_URL: set it to your mail relay, such as smtp://user:password@relay.example.com:587, or start with --dev, which captures every message on this machine';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));

async function completeSettings(config: Config, home: Home, dev: boolean): Promise<Config> {
  if (dev) return developmentSettings(config, home.folder);
  return { ...config, CARILLON_HOME: home.folder, ...requireSettings(config, 'APP_SECRET') };
}

/** Its usual ports need rights that most processes do not have, and a certificate: it runs if ports are set. */
const takesSubmissions = ({ SUBMISSION_PORTS, SUBMISSION_TLS_PORTS }: Config): boolean =>
  SUBMISSION_PORTS !== undefined || SUBMISSION_TLS_PORTS !== undefined;

const progress = (line: string) => void process.stderr.write(`carillon: ${line}\n`);

async function startSupervisor(
  config: Config,
  home: Home,
  options: StartEverythingOptions,
): Promise<Supervisor> {
  if (options.reset) await emptyHome(home);
  const complete = await completeSettings(config, home, options.dev);
  return supervise({
    config: complete,
    home,
    roles: roles.filter((role) => role !== 'submission' || takesSubmissions(complete)),
    upkeep,
    prepare: () => provideConsole({ progress }),
    roleCommand: options.roleCommand ?? [process.execPath, '--no-warnings', main, 'start'],
    log: createLogger(config, 'supervisor'),
    progress,
  });
}

function announce(supervisor: Supervisor, home: Home, json: boolean): void {
  const { devFile } = supervisor;
  if (devFile === null) return;
  const text = json ? JSON.stringify(devFile) : banner(devFile, home.path('dev.json'));
  process.stdout.write(`${text}\n`);
}

/** Ends the children and then this process, without waiting for the stop in progress. */
function endNow(supervisor: Supervisor, home: Home): void {
  // The stop in progress may finish first and exit, now that its children are gone.
  process.exitCode = ENDED_EARLY;
  void supervisor
    .endNow()
    .then(() => home.release())
    .finally(() => process.exit());
}

/**
 * Starts all roles, and the embedded database and engine if no address is set for them. Runs until asked to stop.
 * @throws LocalError or ConfigError, whose message says what to do
 */
export async function startEverything(options: StartEverythingOptions): Promise<void> {
  const config = loadConfig(options.env);
  const dev = options.dev || config.CARILLON_DEV;
  if (!dev && !config.EMAIL_PROVIDER_URL) throw new ConfigError(NO_PROVIDER);
  engineTls(config);
  const home = await openHome(config.CARILLON_HOME, { progress });
  let starting = true;
  const requests = takeStopRequests();
  endWithNpm(config, requests);
  const asked = requests.first.then(async () => {
    if (!starting) return;
    // No work is in progress yet. The watchdog ends the processes that were started.
    await home.release();
    process.exit(ENDED_EARLY);
  });
  try {
    const supervisor = await startSupervisor(config, home, { ...options, dev });
    starting = false;
    announce(supervisor, home, options.json);
    await asked;
    requests.onSecond(() => endNow(supervisor, home));
    await home.markStopping();
    await supervisor.stop();
  } finally {
    await home.release();
  }
  process.exit();
}
