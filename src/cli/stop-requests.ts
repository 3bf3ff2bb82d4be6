/** What shells call a process that Ctrl-C ended. */
export const ENDED_EARLY = 130;

const SAME_REQUEST_MS = 500;

/** A process's requests to end: SIGINT, SIGTERM, SIGHUP. */
export interface StopRequests {
  /** Resolves at the first of them. */
  first: Promise<void>;
  /** For who learns by other means that it is time to end; a first signal that follows tells the same. */
  ask(): void;
  /** What a signal behind the first one does; by default the process ends at once. */
  onSecond(work: () => void): void;
}

/**
 * Take this process's signals. npm hands on the Ctrl-C that the terminal has sent us already, so what comes right
 * behind the first is the same request.
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
