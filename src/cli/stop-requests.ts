/** What shells call a process that Ctrl-C ended. */
export const ENDED_EARLY = 130;

const SAME_REQUEST_MS = 500;

/** A process's requests to end: SIGINT, SIGTERM, SIGHUP. */
export interface StopRequests {
  /** Resolves at the first of them. */
  first: Promise<void>;
  /** The like of a first signal, for who learns by other means that it is time to end. */
  ask(): void;
  /** What a later signal does; by default the process ends at once. */
  onSecond(work: () => void): void;
}

/**
 * Take this process's signals. npm hands on the Ctrl-C that the terminal has sent us already, so what comes right
 * behind the first is the same request.
 */
export function takeStopRequests(): StopRequests {
  let firstAt: number | null = null;
  let second: () => void = () => process.exit(ENDED_EARLY);
  let done: () => void;
  const first = new Promise<void>((resolve) => (done = resolve));
  const ask = () => {
    firstAt ??= performance.now();
    done();
  };
  const onSignal = () => {
    if (firstAt !== null && performance.now() - firstAt > SAME_REQUEST_MS) second();
    else ask();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  return { first, ask, onSecond: (work) => void (second = work) };
}
