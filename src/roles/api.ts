import { startApi } from '../api/server.ts';
import { requireSettings, type Config } from '../config.ts';
import { requireConnections } from '../db/connection-limit.ts';
import { openDatabase } from '../db/database.ts';
import { createLogger } from '../log.ts';
import { startMailbox } from '../mailbox/server.ts';
import { registerProcess } from '../processes/service.ts';

const POOL = 16;

/**
 * The `api` role: the HTTP API, in this process.
 * @throws ConfigError without `DATABASE_URL` and `APP_SECRET`; the system's error where the port is taken
 */
export async function run(config: Config): Promise<{ stop(): Promise<void> }> {
  const { DATABASE_URL } = requireSettings(config, 'DATABASE_URL', 'APP_SECRET');
  const log = createLogger(config, 'api');
  const options = {
    url: DATABASE_URL,
    poolMax: config.DATABASE_POOL ?? POOL,
    applicationName: 'carillon api',
  };
  /** What was started, to be stopped in the opposite order. */
  const started: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const each of started.splice(0).reverse()) await each();
  };
  try {
    const database = openDatabase(options);
    started.push(() => database.close());
    await requireConnections(database.pool, options.poolMax, (facts, message) => log.warn(facts, message));
    const live = await registerProcess(options, 'api');
    started.push(() => live.close());
    const server = await startApi({ config, database, log });
    started.push(() => server.stop());
    if (config.CARILLON_DEV && config.MAILBOX_TOKEN !== undefined) {
      const mailbox = await startMailbox({ config, database, token: config.MAILBOX_TOKEN, log });
      started.push(() => mailbox.stop());
    }
    log.info({ host: config.HOST, port: server.port }, 'api listens');
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    async stop() {
      await stop();
      log.info('api stopped');
    },
  };
}
