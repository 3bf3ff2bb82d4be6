import type { Logger } from 'pino';

/** A loop that runs until it is stopped. */
export interface Repeating {
  /** Starts the next round now, or as soon as the current one ends. */
  wake(): void;
  /** Resolves when the current round has ended. No further round starts. */
  stop(): Promise<void>;
}

interface State {
  stopping: boolean;
  woken: boolean;
  interrupt: (() => void) | null;
}

function pause(state: State, milliseconds: number): Promise<void> {
  if (state.woken || state.stopping) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      state.interrupt = null;
      resolve();
    };
    const timer = milliseconds === Infinity ? undefined : setTimeout(done, milliseconds);
    state.interrupt = done;
  });
}

/**
 * Repeats `work`; the first round starts at once.
 * @param work one round; returns the milliseconds until the next, or Infinity to wait until it is woken. Errors are
 *   logged, and the next round follows.
 * @param options.name names the work in the log, such as `claiming messages`
 * @param options.retryMs pause after a round that threw; 1 s by default
 */
export function repeat(
  work: () => Promise<number>,
  options: { log: Logger; name: string; retryMs?: number },
): Repeating {
  const state: State = { stopping: false, woken: false, interrupt: null };
  const round = async (): Promise<number> => {
    try {
      return await work();
    } catch (error) {
      options.log.warn({ err: error }, `${options.name} failed: retrying`);
      return options.retryMs ?? 1_000;
    }
  };
  const ended = (async () => {
    while (!state.stopping) {
      state.woken = false;
      await pause(state, await round());
    }
  })();
  return {
    wake() {
      state.woken = true;
      state.interrupt?.();
    },
    async stop() {
      state.stopping = true;
      state.interrupt?.();
      await ended;
    },
  };
}
