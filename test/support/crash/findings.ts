import type { Database } from '../../../src/platform/db/database.ts';
import { eventually } from '../eventually.ts';
import type { Receiver } from '../https-receiver.ts';
import type { Arrival } from './mail-sink.ts';
import type { CrashStage } from './stage.ts';
import type { KilledRun } from './send-and-kill.ts';

/** The result of a run, from the SMTP server and the database. */
export interface Findings {
  messages: number;
  /** Number of messages that were accepted without the client noticing, and then requested again. */
  replayed: number;
  /** Recipients of accepted messages whose mail did not arrive. */
  missing: string[];
  /** Recipients who got several mails although their message had no intent at the time of the kill. */
  repeatedUnintended: string[];
  /** Number of recipients who got more than one mail. */
  repeated: number;
  /** Recipients whose mails differ from each other. */
  changed: string[];
  /** Number of different Message-IDs. */
  messageIds: number;
  statuses: Record<string, number>;
  /** Recipients of messages whose `email.sent` the subscriber did not get. */
  unreported: string[];
  /** Seconds from the restart to the first mail after it; 0 if no mail was due. */
  resumedSeconds: number;
  /** Seconds from the restart to the last mail that the killed process had claimed; 0 if all arrived before. */
  strandedSeconds: number;
}

const QUIET_LIMIT_MS = 60_000;
/** Long enough that polling does not slow down what is waited for. */
const LOOK_MS = 100;

/** Counts all messages to the run's recipients by status, including those whose request got no response. */
async function statusesOf(database: Database, prefix: string): Promise<Record<string, number>> {
  const { rows } = await database.pool.query<{ status: string; count: number }>(
    'select status, count(*) from messages where starts_with(to_key, $1) group by status',
    [`${prefix}-`],
  );
  return Object.fromEntries(rows.map((row) => [row.status, row.count]));
}

/**
 * Waits until no message is queued, no intent is open and every event is delivered.
 * @throws Error that lists the remaining work after a minute
 */
export async function untilQuiet(database: Database): Promise<void> {
  await eventually(
    async () => {
      const { rows } = await database.pool.query<Record<string, number>>(
        `select (select count(*) from send_queue) as messages, (select count(*) from handovers) as intents,
         (select count(*) from webhook_queue) as events,
         (select count(*) from webhook_deliveries where status <> 'delivered') as deliveries`,
      );
      const left = Object.entries(rows[0] ?? {}).filter(([, number]) => number !== 0);
      if (left.length > 0)
        throw new Error(`left after a minute: ${JSON.stringify(Object.fromEntries(left))}`);
    },
    QUIET_LIMIT_MS,
    LOOK_MS,
  );
}

/** Returns the ids of the messages whose events the subscriber got. */
export function reportedIds(receiver: Pick<Receiver, 'requests'>): Set<number> {
  const events = receiver.requests.map(
    (request) => JSON.parse(request.body) as { data: { message_id: number } },
  );
  return new Set(events.map((event) => event.data.message_id));
}

type Mails = Map<string, Arrival[]>;

function secondsAfter(run: KilledRun, times: number[]): number {
  return Math.max(0, ...times.map((at) => (at - run.restartedAt) / 1_000));
}

function resumedSeconds(run: KilledRun, mails: Mails): number {
  const waiting = run.accepted.filter(({ at }) => at < run.restartedAt);
  const firsts = waiting.map(({ to }) => mails.get(to)?.[0]?.at ?? 0);
  if (firsts.every((at) => at <= run.restartedAt)) return 0;
  const next = run.arrivals().find(({ at }) => at > run.restartedAt);
  return secondsAfter(run, next ? [next.at] : []);
}

function strandedSeconds(run: KilledRun, mails: Mails): number {
  const stranded = new Set([...run.held.intended, ...run.held.claimed]);
  const theirs = run.accepted.filter(({ id }) => stranded.has(id));
  return secondsAfter(
    run,
    theirs.map(({ to }) => mails.get(to)?.at(-1)?.at ?? 0),
  );
}

/**
 * Waits until no work is left, then compares what arrived with the database.
 * @throws Error if work is left after a minute
 */
export async function findingsOf(stage: CrashStage, run: KilledRun): Promise<Findings> {
  const { database, receiver } = stage;
  await untilQuiet(database);
  const reported = reportedIds(receiver);
  const mails = Map.groupBy(run.arrivals(), (arrival) => arrival.to);
  const ids = new Map(run.accepted.map(({ to, id }) => [to, id]));
  const intended = new Set(run.held.intended);
  const repeated = [...mails].filter(([, each]) => each.length > 1).map(([to]) => to);
  const differ = (each: Arrival[]) => new Set(each.map((mail) => mail.sha256 + mail.messageId)).size > 1;
  return {
    messages: new Set(ids.values()).size,
    replayed: run.accepted.filter(({ replayed }) => replayed).length,
    missing: [...ids.keys()].filter((to) => !mails.has(to)),
    repeatedUnintended: repeated.filter((to) => !intended.has(ids.get(to) ?? 0)),
    repeated: repeated.length,
    changed: [...mails].filter(([, each]) => differ(each)).map(([to]) => to),
    messageIds: new Set(run.arrivals().map((mail) => mail.messageId)).size,
    statuses: await statusesOf(database, run.prefix),
    unreported: [...ids].filter(([, id]) => !reported.has(id)).map(([to]) => to),
    resumedSeconds: resumedSeconds(run, mails),
    strandedSeconds: strandedSeconds(run, mails),
  };
}
