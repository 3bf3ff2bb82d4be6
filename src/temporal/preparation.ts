import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import { repeat } from '../outbox/repeating.ts';
import type { Engine } from './connection.ts';
import { ensureLanes } from './lanes.ts';
import { ensureHousekeeping, ensureSearchAttributes } from './prepare.ts';

const CHECK_MS = 5_000;
const AWAY_MS = 2_000;
/** An engine that refuses what it is told is asked again for what it knows at most this often. */
const REPEAT_MS = 5_000;

export interface Preparation {
  /** Look again soon. */
  wake(): void;
  /** Make everything now. @throws where the engine is away */
  prepare(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Keep an engine ready for us: search attributes, the housekeeping Schedule, lanes. All is made again when the
 * engine turns out to be a new one, or refuses something.
 */
export function createPreparation(deps: { engine: Engine; database: Database; log: Logger }): Preparation {
  const { engine, database, log } = deps;
  let preparedFor: string | null = null;
  let preparedAt = 0;
  let asked = false;
  const prepare = async (): Promise<void> => {
    const namespaceId = await engine.namespaceId();
    await ensureSearchAttributes(engine, log);
    await ensureHousekeeping(engine);
    if (namespaceId !== preparedFor) await ensureLanes(engine.client, database, { force: true });
    preparedFor = namespaceId;
    preparedAt = Date.now();
    asked = false;
  };
  const round = async (): Promise<number> => {
    const sinceMs = Date.now() - preparedAt;
    if (asked && sinceMs < REPEAT_MS) return REPEAT_MS - sinceMs;
    try {
      if (asked || (await engine.namespaceId()) !== preparedFor) await prepare();
      return CHECK_MS;
    } catch (error) {
      log.debug({ err: error }, 'the engine could not be prepared');
      return AWAY_MS;
    }
  };
  const loop = repeat(round, { log, name: 'preparing the engine' });
  return {
    wake() {
      if (asked) return;
      asked = true;
      loop.wake();
    },
    prepare,
    stop: () => loop.stop(),
  };
}
