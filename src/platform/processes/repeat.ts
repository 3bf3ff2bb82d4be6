import type { Logger } from 'pino';

/** Work done over and over until it is stopped. */
export interface Repeating {
  /** Do it again now, or as soon as what runs is done. */
  wake(): void;
  /** @returns when what runs is done; it is not started again */
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
    const timer = setTimeout(done, milliseconds);
    state.interrupt = done;
  });
}

/**
 * Repeat `work`; the first round begins at once.
 * @param work one round; returns milliseconds until the next. What it throws is logged and tried again.
 * @param options.retryMs pause after a round that threw
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
      options.log.warn({ err: error }, `${options.name} failed and is repeated`);
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
