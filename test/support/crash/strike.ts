import { createHash } from 'node:crypto';
import pg from 'pg';
import { type Accepted, sendAll } from './client.ts';
import { type Held, heldBy } from './cluster.ts';
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

export interface StrikeOptions {
  /** Names the run's recipients; also chooses the moment, together with the seed. */
  name: string;
  seed: number;
  count: number;
  /** Whose arrivals the blow waits for; anyone's where it is not given. */
  victim?: Role;
  /** Called in the very moment when a mail has arrived and before anyone is told; must kill before its first await. */
  strike: () => Promise<Struck>;
}

export interface StruckRun extends Struck {
  prefix: string;
  accepted: Accepted[];
  /** Of the run's mails, in their order. */
  arrivals: () => Arrival[];
  /** How many mails had arrived at the blow. */
  arrivedBefore: number;
}

/** The same for the same seed and name; from 0 to 1. */
function fractionOf(seed: number, name: string): number {
  return createHash('sha256').update(`${name}/${seed}`).digest().readUInt32BE(0) / 2 ** 32;
}

/**
 * Send messages through the API and strike in the middle: after a share of the mails, between a tenth and six tenths,
 * that the seed chooses.
 * @returns when everything is accepted and what was killed runs again
 */
export async function sendAndStrike(stage: CrashStage, options: StrikeOptions): Promise<StruckRun> {
  const { name, seed, count, victim, strike } = options;
  const { sink, apiPort, apiKey } = stage;
  const prefix = `${name}-${seed}`;
  const moment = Math.ceil(count * (0.1 + 0.5 * fractionOf(seed, name)));
  const first = sink.arrivals.length;
  const arrivals = () => sink.arrivals.slice(first).filter((arrival) => arrival.to.startsWith(`${prefix}-`));
  const blow = new Promise<{ struck: Struck; arrivedBefore: number }>((resolve, reject) => {
    sink.onArrival = (arrival) => {
      const arrivedBefore = sink.arrivals.length - first;
      if (arrivedBefore < moment || (victim && arrival.client !== victim.name)) return;
      sink.onArrival = null;
      strike().then((struck) => resolve({ struck, arrivedBefore }), reject);
    };
  });
  try {
    const sending = sendAll({ apiPort, apiKey, prefix, count, parallel: 16 });
    const [accepted, { struck, arrivedBefore }] = await Promise.all([sending, blow]);
    return { ...struck, prefix, accepted, arrivals, arrivedBefore };
  } finally {
    sink.onArrival = null;
  }
}

/** Sees what a sender leaves behind. */
export interface Witness {
  held(): Promise<Held>;
  close(): Promise<void>;
}

/** @param pid of a sender. Its row is held, so that nobody settles anything before it is read. */
export async function watchSender(stage: CrashStage, pid: number): Promise<Witness> {
  const client = new pg.Client({ connectionString: stage.database.url });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin');
  // The reaper deletes the row before it settles anything; heartbeats and intents pass this lock.
  const { rows } = await client.query<{ id: number }>(
    `select id from processes where pid = $1 and role = 'sender' for key share`,
    [pid],
  );
  const owner = rows[0]?.id;
  if (owner === undefined) throw new Error(`process ${pid} has no row`);
  return { held: () => heldBy(client, owner), close: () => client.end() };
}
