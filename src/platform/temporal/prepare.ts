import type { Logger } from 'pino';
import { repeat } from '../processes/repeat.ts';
import { callEngine, type Engine } from './connection.ts';
import { searchAttributeNames } from './contract.ts';

/** Temporal's IndexedValueType of an exact, indexed string. */
const KEYWORD = 2;
/** gRPC codes. */
const PERMISSION_DENIED = 7;
const UNIMPLEMENTED = 12;

async function registerMissing(engine: Engine): Promise<void> {
  const { connection } = engine.client;
  const { namespace } = engine;
  const known = await callEngine(engine.client, () =>
    connection.operatorService.listSearchAttributes({ namespace }),
  );
  const missing = searchAttributeNames.filter((name) => !(name in known.customAttributes));
  if (missing.length === 0) return;
  const searchAttributes = Object.fromEntries(missing.map((name) => [name, KEYWORD]));
  await callEngine(engine.client, () =>
    connection.operatorService.addSearchAttributes({ namespace, searchAttributes }),
  );
}

/**
 * Registers the search attributes that the namespace lacks. Temporal Cloud does not allow this, so a warning asks the
 * operator to create them.
 * @throws if the engine is unavailable
 */
export async function ensureSearchAttributes(engine: Engine, log: Logger): Promise<void> {
  try {
    await registerMissing(engine);
  } catch (error) {
    const { code } = error as { code?: number };
    if (code !== PERMISSION_DENIED && code !== UNIMPLEMENTED) throw error;
    log.warn(
      { needed: searchAttributeNames },
      'the engine does not let Carillon register search attributes: create these as Keywords with its own tools',
    );
  }
}

const CHECK_MS = 5_000;
const RETRY_MS = 2_000;
/** Minimum time between two runs of the steps after refused requests, in ms. */
const REPEAT_MS = 5_000;

/**
 * One step that prepares the engine for our workflows. Safe to repeat.
 * @param isNew whether this is the namespace's first time, as far as this process knows
 */
export type PreparationStep = (namespace: { isNew: boolean }) => Promise<void>;

export interface Preparation {
  /** Runs the steps again soon, because the engine refused a request. */
  wake(): void;
  /** Runs the steps now. @throws if the engine is unavailable */
  prepare(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Keeps the engine ready for our workflows. Runs the steps one after another, and again if the engine turns out to be
 * new or refuses a request.
 */
export function createPreparation(deps: {
  engine: Engine;
  steps: readonly PreparationStep[];
  log: Logger;
}): Preparation {
  const { engine, steps, log } = deps;
  let preparedFor: string | null = null;
  let preparedAt = 0;
  let asked = false;
  const prepare = async (): Promise<void> => {
    const namespaceId = await engine.namespaceId();
    for (const step of steps) await step({ isNew: namespaceId !== preparedFor });
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
      log.debug({ err: error }, 'cannot prepare the engine');
      return RETRY_MS;
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
