/** The size of the crash tests: full if CRASH_FULL is set, otherwise a tenth with one seed. */
interface Scale {
  messages: number;
  /** Events published to subscribers. */
  events: number;
  seeds: number[];
  engineDownMs: number;
  /**
   * Carillon promises that stranded work moves again within 15 s of the restart. Only the full tests check it: they have
   * the machine to themselves, whereas a busy machine must not fail `npm test`.
   */
  strandedLimitSeconds: number;
}

const full = process.env.CRASH_FULL === '1';

export const scale: Scale = full
  ? { messages: 2_000, events: 5_000, seeds: [1, 2, 3], engineDownMs: 60_000, strandedLimitSeconds: 15 }
  : { messages: 200, events: 500, seeds: [1], engineDownMs: 8_000, strandedLimitSeconds: Infinity };
