import type { Config } from '../config.ts';

/** The exit code that shells give a process ended by Ctrl-C. */
export const ENDED_EARLY = 130;

const SAME_REQUEST_MS = 500;
const PARENT_CHECK_MS = 1_000;

/** Requests to end this process: SIGINT, SIGTERM, SIGHUP. */
export interface StopRequests {
  /** Resolves at the first request. */
  first: Promise<void>;
  /** Requests the end for a reason other than a signal. The first signal after it counts as the same request. */
  ask(): void;
  /** Sets what the second signal does; by default the process ends at once. */
  onSecond(work: () => void): void;
}

/**
 * Takes over the signals of this process. npm passes on the Ctrl-C that the terminal has already sent to the whole
 * group, so a signal right after the first one is the same request.
 */
export function takeStopRequests(): StopRequests {
  let firstSignalAt: number | null = null;
  let second: () => void = () => process.exit(ENDED_EARLY);
  let done: () => void;
  const first = new Promise<void>((resolve) => (done = resolve));
  const ask = () => done();
  const onSignal = () => {
    firstSignalAt ??= performance.now();
    if (performance.now() - firstSignalAt > SAME_REQUEST_MS) second();
    else ask();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  return { first, ask, onSecond: (work) => void (second = work) };
}

/**
 * Stops when npm ends: npm may end without passing on its signal. `carillon.js` counts as npm where it starts another
 * Node.js.
 */
export function endWithNpm(config: Pick<Config, 'npm_lifecycle_event'>, requests: StopRequests): void {
  if (config.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && requests.ask(), PARENT_CHECK_MS).unref();
}
