import { createHash } from 'node:crypto';
import { type Accepted, startSending } from './client.ts';
import type { ClaimedWork } from './cluster.ts';
import type { Arrival } from './mail-sink.ts';
import type { Role } from './role.ts';
import type { CrashStage } from './stage.ts';

/** What a test records when it kills a process. */
export interface Kill {
  /** The work that the killed process had claimed. Only messages with an intent may arrive twice. */
  held: ClaimedWork;
  /** When the killed process was started again, in milliseconds since the epoch. */
  restartedAt: number;
}

/** A group of messages that are sent together. */
export interface Run {
  prefix: string;
  accepted: readonly Accepted[];
  /** Resolves when everything is accepted. */
  done: Promise<unknown>;
  /** The run's mails in order of arrival. */
  arrivals: () => Arrival[];
}

interface KillOptions {
  /** The prefix of the run's recipients. Together with the seed, it also decides the moment of the kill. */
  name: string;
  seed: number;
  count: number;
  /**
   * When to kill: when a mail from this sender arrives, when a mail from any sender arrives (`mail`), or when a message
   * is committed but its client does not have the response yet (`answer`).
   */
  moment: Role | 'mail' | 'answer';
  /** Kills before its first `await`. */
  kill: () => Promise<Kill>;
}

export type KilledRun = Run & Kill;

/** Number of concurrent requests. */
const PARALLEL = 16;
const MOMENT_LIMIT_MS = 60_000;

/** Returns a number from 0 to 1, always the same for the same seed and name. */
export function fractionOf(seed: number, name: string): number {
  return createHash('sha256').update(`${name}/${seed}`).digest().readUInt32BE(0) / 2 ** 32;
}

/** Starts sending the messages. At most a quarter of them may be accepted but not yet arrived at any time. */
export function send(stage: CrashStage, run: { prefix: string; count: number; outage?: AbortSignal }): Run {
  const { sink, apiPort, apiKey } = stage;
  const { prefix, count, outage = new AbortController().signal } = run;
  const first = sink.arrivals.length;
  const arrivals = () => sink.arrivals.slice(first).filter(({ to }) => to.startsWith(`${prefix}-`));
  const pace = { parallel: PARALLEL, ahead: count / 4, arrived: () => sink.arrivals.length - first };
  const sent = startSending({ apiPort, apiKey, prefix, count, outage, ...pace });
  return { prefix, ...sent, arrivals };
}

/** Resolves in the turn of the event loop in which the mail arrives: its sender has no reply yet. */
function mailArrives({ sink }: CrashStage, run: Run, after: number, client?: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error('no mail arrived to kill at')), MOMENT_LIMIT_MS);
    sink.onArrival = (arrival) => {
      if (run.arrivals().length < after || (client !== undefined && arrival.client !== client)) return;
      sink.onArrival = null;
      clearTimeout(limit);
      resolve();
    };
  });
}

/** Resolves when a message is committed but its client does not have the response yet. */
async function messageIsCommitted(stage: CrashStage, run: Run, after: number): Promise<void> {
  const end = Date.now() + MOMENT_LIMIT_MS;
  while (Date.now() < end) {
    const { rows } = await stage.database.pool.query<{ committed: number }>(
      'select count(*) as committed from messages where starts_with(to_key, $1)',
      [`${run.prefix}-`],
    );
    const committed = rows[0]?.committed ?? 0;
    if (committed >= after && committed > run.accepted.length) return;
  }
  throw new Error('no message was committed before its client had the response');
}

/**
 * Sends messages through the API, and kills a process after 10 to 60 percent of them, depending on the seed. All
 * connections of the clients break at the same time. Resolves when all messages are accepted and the killed process is
 * running again.
 */
export async function sendAndKill(stage: CrashStage, options: KillOptions): Promise<KilledRun> {
  const { name, seed, count, moment, kill } = options;
  const outage = new AbortController();
  const run = send(stage, { prefix: `${name}-${seed}`, count, outage: outage.signal });
  const after = Math.ceil(count * (0.1 + 0.5 * fractionOf(seed, name)));
  const killAtMoment = async () => {
    if (moment === 'answer') await messageIsCommitted(stage, run, after);
    else await mailArrives(stage, run, after, moment === 'mail' ? undefined : moment.name);
    const killing = kill();
    outage.abort();
    return killing;
  };
  try {
    const [killed] = await Promise.all([killAtMoment(), run.done]);
    if (run.accepted.length !== count)
      throw new Error(`${run.accepted.length} of ${count} messages were accepted`);
    return { ...run, ...killed };
  } finally {
    stage.sink.onArrival = null;
  }
}
