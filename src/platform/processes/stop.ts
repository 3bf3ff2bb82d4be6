/** Lets work in progress notice that it has been asked to stop. */
export interface Stop {
  readonly requested: boolean;
  /** Ends all waits of {@link Stop.race}, present and future. */
  request(): void;
  /**
   * Waits for work, but not longer than until the stop. The work itself goes on.
   * @returns null if the stop comes first, or has come already
   * @throws the error of the work
   */
  race<Result>(work: Promise<Result>): Promise<Result | null>;
}

/** Unlike `Promise.race` with a promise that lasts as long as the process, a wait leaves nothing behind in memory. */
export function createStop(): Stop {
  const waits = new Set<() => void>();
  let requested = false;
  return {
    get requested() {
      return requested;
    },
    request() {
      requested = true;
      for (const end of waits) end();
      waits.clear();
    },
    race(work) {
      return new Promise((resolve, reject) => {
        const end = () => resolve(null);
        waits.add(end);
        work.then(resolve, reject).finally(() => waits.delete(end));
        if (requested) end();
      });
    },
  };
}
