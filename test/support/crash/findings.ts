import type { Database } from '../../../src/platform/db/database.ts';
import { eventually } from '../eventually.ts';
import type { Receiver } from '../https-receiver.ts';
import type { Arrival } from './mail-sink.ts';
import type { CrashStage } from './stage.ts';
import type { StruckRun } from './strike.ts';

/** What became of a run, as the SMTP server and the database tell it. */
export interface Findings {
  messages: number;
  /** How many of them were accepted although the client never saw it, and were asked for again. */
  replayed: number;
  /** Recipients of accepted messages that no mail came for. */
  missing: string[];
  /** Recipients of more than one mail although their message was not intended at the kill. */
  repeatedUnintended: string[];
  /** How many recipients got more than one mail. */
  repeated: number;
  /** Recipients whose mails differ. */
  changed: string[];
  /** Different Message-IDs. */
  messageIds: number;
  statuses: Record<string, number>;
  /** Recipients of messages whose `email.sent` the subscriber was not told of. */
  untold: string[];
  /** From the restart to the first mail after it; 0 where none was waited for. */
  resumedSeconds: number;
  /** From the restart to the last mail of what was held by what was killed; 0 where all had come before. */
  strandedSeconds: number;
}

const SETTLE_LIMIT_MS = 60_000;

/** Of all messages to the run's recipients, whether their request was answered or not. */
async function statusesOf(database: Database, prefix: string): Promise<Record<string, number>> {
  const { rows } = await database.pool.query<{ status: string; count: number }>(
    'select status, count(*) from messages where starts_with(to_key, $1) group by status',
    [`${prefix}-`],
  );
  return Object.fromEntries(rows.map((row) => [row.status, row.count]));
}

/**
 * Wait until nothing waits, nothing is claimed, no intent is open and every event was taken.
 * @throws Error with what is left after a minute
 */
export async function untilQuiet(database: Database): Promise<void> {
  await eventually(async () => {
    const { rows } = await database.pool.query<Record<string, number>>(
      `select (select count(*) from send_queue) as messages, (select count(*) from handovers) as intents,
         (select count(*) from webhook_queue) as events,
         (select count(*) from webhook_deliveries where status <> 'delivered') as deliveries`,
    );
    const left = Object.entries(rows[0] ?? {}).filter(([, number]) => number !== 0);
    if (left.length > 0) throw new Error(`left after a minute: ${JSON.stringify(Object.fromEntries(left))}`);
  }, SETTLE_LIMIT_MS);
}

/** Ids of the messages that a subscriber was told of, by what it was sent. */
export function toldOf(receiver: Receiver): Set<number> {
  const events = receiver.requests.map(
    (request) => JSON.parse(request.body) as { data: { message_id: number } },
  );
  return new Set(events.map((event) => event.data.message_id));
}

type Mails = Map<string, Arrival[]>;

function secondsAfter(run: StruckRun, times: number[]): number {
  return Math.max(0, ...times.map((at) => (at - run.restartedAt) / 1_000));
}

function resumedSeconds(run: StruckRun, mails: Mails): number {
  const waiting = run.accepted.filter(({ at }) => at < run.restartedAt);
  const firsts = waiting.map(({ to }) => mails.get(to)?.[0]?.at ?? 0);
  if (firsts.every((at) => at <= run.restartedAt)) return 0;
  const next = run.arrivals().find(({ at }) => at > run.restartedAt);
  return secondsAfter(run, next ? [next.at] : []);
}

function strandedSeconds(run: StruckRun, mails: Mails): number {
  const stranded = new Set([...run.held.intended, ...run.held.claimed]);
  const theirs = run.accepted.filter(({ id }) => stranded.has(id));
  return secondsAfter(
    run,
    theirs.map(({ to }) => mails.get(to)?.at(-1)?.at ?? 0),
  );
}

/**
 * Wait until nothing is left to do, then look.
 * @throws Error where something is left after a minute
 */
export async function findingsOf(stage: CrashStage, run: StruckRun): Promise<Findings> {
  const { database, receiver } = stage;
  await untilQuiet(database);
  const told = toldOf(receiver);
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
    untold: [...ids].filter(([, id]) => !told.has(id)).map(([to]) => to),
    resumedSeconds: resumedSeconds(run, mails),
    strandedSeconds: strandedSeconds(run, mails),
  };
}
