/** How much the crash tests do: a tenth with one seed, or all of it where CRASH_FULL is set. */
export interface Scale {
  messages: number;
  /** Published for subscribers. */
  events: number;
  seeds: number[];
  engineDownMs: number;
}

const full = process.env.CRASH_FULL === '1';

export const scale: Scale = full
  ? { messages: 2_000, events: 5_000, seeds: [1, 2, 3], engineDownMs: 60_000 }
  : { messages: 200, events: 500, seeds: [1], engineDownMs: 8_000 };
