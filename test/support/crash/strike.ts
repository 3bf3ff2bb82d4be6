import { createHash } from 'node:crypto';
import { type Accepted, startSending } from './client.ts';
import type { Held } from './cluster.ts';
import type { Arrival } from './mail-sink.ts';
import type { Role } from './role.ts';
import type { CrashStage } from './stage.ts';

/** What somebody saw who killed something. */
export interface Struck {
  /** By what was killed, at that moment: only what was intended may arrive twice. */
  held: Held;
  /** When what was killed was started again. */
  restartedAt: number;
}

/** Messages that are being sent, or were. */
export interface Run {
  prefix: string;
  accepted: readonly Accepted[];
  /** Resolves when everything is accepted. */
  done: Promise<unknown>;
  /** Of the run's mails, in their order. */
  arrivals: () => Arrival[];
}

export interface StrikeOptions {
  /** Names the run's recipients; also chooses the moment, together with the seed. */
  name: string;
  seed: number;
  count: number;
  /**
   * A sender: the moment when a mail of its has come; `mail`: the same of any sender; `answer`: the moment when a
   * message is committed. Nobody who waits for the answer has it yet.
   */
  moment: Role | 'mail' | 'answer';
  /** Must kill before its first await. */
  strike: () => Promise<Struck>;
}

export type StruckRun = Run & Struck;

/** Requests at once. */
const PARALLEL = 16;
const MOMENT_LIMIT_MS = 60_000;

/** The same for the same seed and name; from 0 to 1. */
export function fractionOf(seed: number, name: string): number {
  return createHash('sha256').update(`${name}/${seed}`).digest().readUInt32BE(0) / 2 ** 32;
}

/** Begin to send, at most a quarter of the messages ahead of the mails. */
export function send(stage: CrashStage, run: { prefix: string; count: number; outage?: AbortSignal }): Run {
  const { sink, apiPort, apiKey } = stage;
  const { prefix, count, outage = new AbortController().signal } = run;
  const first = sink.arrivals.length;
  const arrivals = () => sink.arrivals.slice(first).filter(({ to }) => to.startsWith(`${prefix}-`));
  const pace = { parallel: PARALLEL, ahead: count / 4, arrived: () => sink.arrivals.length - first };
  const sent = startSending({ apiPort, apiKey, prefix, count, outage, ...pace });
  return { prefix, ...sent, arrivals };
}

/** Resolves within the very turn in which the mail has come. */
function mailHasCome({ sink }: CrashStage, run: Run, least: number, client?: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error('the mail to strike at did not come')), MOMENT_LIMIT_MS);
    sink.onArrival = (arrival) => {
      if (run.arrivals().length < least || (client !== undefined && arrival.client !== client)) return;
      sink.onArrival = null;
      clearTimeout(limit);
      resolve();
    };
  });
}

/** Resolves when a message is committed and its client does not know yet. */
async function answerIsDue(stage: CrashStage, run: Run, least: number): Promise<void> {
  const end = Date.now() + MOMENT_LIMIT_MS;
  while (Date.now() < end) {
    const { rows } = await stage.database.pool.query<{ committed: number }>(
      'select count(*) as committed from messages where starts_with(to_key, $1)',
      [`${run.prefix}-`],
    );
    const committed = rows[0]?.committed ?? 0;
    if (committed >= least && committed > run.accepted.length) return;
  }
  throw new Error('no message was ever committed before its client knew');
}

/**
 * Send messages through the API and strike in the middle: after a share of them, between a tenth and six tenths, that
 * the seed chooses. The connections of the clients break with it.
 * @returns when everything is accepted and what was killed runs again
 */
export async function sendAndStrike(stage: CrashStage, options: StrikeOptions): Promise<StruckRun> {
  const { name, seed, count, moment, strike } = options;
  const outage = new AbortController();
  const run = send(stage, { prefix: `${name}-${seed}`, count, outage: outage.signal });
  const least = Math.ceil(count * (0.1 + 0.5 * fractionOf(seed, name)));
  const blow = async () => {
    if (moment === 'answer') await answerIsDue(stage, run, least);
    else await mailHasCome(stage, run, least, moment === 'mail' ? undefined : moment.name);
    const striking = strike();
    outage.abort();
    return striking;
  };
  try {
    const [struck] = await Promise.all([blow(), run.done]);
    if (run.accepted.length !== count) throw new Error(`${run.accepted.length} of ${count} were accepted`);
    return { ...run, ...struck };
  } finally {
    stage.sink.onArrival = null;
  }
}
