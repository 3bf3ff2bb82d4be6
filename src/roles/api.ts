import { startApi } from '../api/server.ts';
import { requireSettings, type Config } from '../config.ts';
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
  const database = openDatabase(options);
  const live = await registerProcess(options, 'api');
  const server = await startApi({ config, database, log });
  const token = config.CARILLON_DEV ? config.MAILBOX_TOKEN : undefined;
  const mailbox = token === undefined ? null : await startMailbox({ config, database, token, log });
  log.info({ host: config.HOST, port: server.port }, 'api listens');
  return {
    async stop() {
      await mailbox?.stop();
      await server.stop();
      await live.close();
      await database.close();
      log.info('api stopped');
    },
  };
}
