import type { Logger } from 'pino';
import type { Config } from '../src/config.ts';
import type { Database } from '../src/platform/db/database.ts';
import type { Waker } from '../src/platform/db/wake.ts';
import type { Resolver } from '../src/platform/dns/resolver.ts';
import type { Keyring } from '../src/platform/secrets/keyring.ts';
import { createHousekeepingActivities } from './housekeeping.ts';
import { createLaneModeActivities } from './lanes.ts';
import { createWebhookActivities } from './webhooks.ts';

/** What the `worker` role gives to every activity. */
export interface ActivityDependencies {
  config: Config;
  database: Database;
  waker: Waker;
  keyring: Keyring;
  resolver: Resolver;
  log: Logger;
  /** Aborted when the process is about to stop. */
  stopping: AbortSignal;
}

/**
 * Every activity of the task queues `orchestration` and `bulk`; what the lanes do in a sender is apart (`lanes.ts`).
 * A room adds one line: `...create<Room>Activities(deps)`, and types its proxy with
 * `ReturnType<typeof create<Room>Activities>` through `import type`.
 */
export function createActivities(deps: ActivityDependencies) {
  return {
    ...createHousekeepingActivities(deps),
    ...createLaneModeActivities(deps),
    ...createWebhookActivities(deps),
  };
}
