/** Lets one loop sleep until something happens; a signal given while nobody sleeps is kept for the next sleep. */
export interface Signal {
  give(): void;
  sleep(milliseconds: number): Promise<void>;
}

export function createSignal(): Signal {
  let given = false;
  let wake: (() => void) | null = null;
  return {
    give() {
      given = true;
      wake?.();
    },
    async sleep(milliseconds) {
      if (!given) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, milliseconds);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      wake = null;
      given = false;
    },
  };
}
