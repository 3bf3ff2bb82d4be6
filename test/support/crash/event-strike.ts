import { type DeliveryOf, publish, type Subscriber, type Taking } from './events.ts';
import { untilQuiet } from './findings.ts';
import type { CrashStage } from './stage.ts';
import { fractionOf } from './strike.ts';

/** What somebody saw who killed something. */
export interface EventStrike {
  /** What may arrive twice, where it first arrived before the kill. */
  inFlight: DeliveryOf[];
  /** What moves again when what was killed is back. */
  stranded: DeliveryOf[];
  restartedAt: number;
}

/** What became of a run, as the subscriber and the database tell it. */
export interface EventFindings {
  events: number;
  deliveries: number;
  /** Deliveries that the subscriber never took. */
  lost: string[];
  repeated: string[];
  /** Taken more than once although not in flight at the kill. */
  repeatedNotInFlight: string[];
  /** From the restart to the last taking of what was stranded; 0 where all had come before. */
  strandedSeconds: number;
}

export interface EventRun {
  /** Names the run's events; also chooses the moment, together with the seed. */
  name: string;
  seed: number;
  count: number;
  /** `retry`: the moment when a retry has come; else any event. */
  moment?: 'retry';
  /** Must kill before its first await. */
  strike: () => Promise<EventStrike>;
}

const MOMENT_LIMIT_MS = 60_000;
/** What was written before the kill may be read after it. */
const ON_ITS_WAY_MS = 1_000;

/** Resolves within the very turn in which the subscriber has an event that it has not acknowledged. */
function eventHasCome(subscriber: Subscriber, least: number, retried: boolean): Promise<Taking> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error('the event to strike at did not come')), MOMENT_LIMIT_MS);
    subscriber.onTaking = (taking) => {
      if (subscriber.takings.length < least || (retried && !taking.retried)) return;
      subscriber.onTaking = null;
      clearTimeout(limit);
      resolve(taking);
    };
  });
}

async function deliveriesOf(stage: CrashStage, name: string): Promise<(DeliveryOf & { n: number })[]> {
  const { rows } = await stage.database.pool.query<DeliveryOf & { n: number }>(
    `select d.event_id as "eventId", d.webhook_id as "webhookId", (e.data->>'message_id')::int as n
     from webhook_deliveries d join events e on e.id = d.event_id and e.created_at = d.created_at
     where e.data->>'subject' = $1`,
    [name],
  );
  return rows;
}

/**
 * Publish events and strike in the middle: after a share of them, between a tenth and six tenths, that the seed
 * chooses; then wait until nothing is left to do, and look.
 */
export async function publishAndStrike(
  stage: CrashStage,
  subscriber: Subscriber,
  run: EventRun,
): Promise<EventFindings> {
  const name = `${run.name}-${run.seed}`;
  const first = subscriber.takings.length;
  const share = 0.1 + 0.5 * fractionOf(run.seed, `events of ${run.name}`);
  const published = publish(stage, subscriber, { name, count: run.count });
  const blow = async () => {
    const least = first + Math.ceil(run.count * 2 * share);
    const { at: killedAt } = await eventHasCome(subscriber, least, run.moment === 'retry');
    return { killedAt, ...(await run.strike()) };
  };
  const [{ killedAt, inFlight, stranded, restartedAt }] = await Promise.all([blow(), published]).finally(
    () => {
      subscriber.onTaking = null;
    },
  );
  await untilQuiet(stage.database);

  const deliveries = await deliveriesOf(stage, name);
  const takings = Map.groupBy(subscriber.takings.slice(first), (taking) => taking.key);
  const key = ({ eventId, webhookId }: DeliveryOf) => subscriber.keyOf(eventId, webhookId);
  const repeated = [...takings].filter(([, each]) => each.length > 1);
  const mayRepeat = new Set(inFlight.map(key));
  const innocent = repeated.filter(
    ([of, [taking]]) => !mayRepeat.has(of) || (taking?.at ?? 0) > killedAt + ON_ITS_WAY_MS,
  );
  const ends = stranded.map((each) => takings.get(key(each))?.at(-1)?.at ?? 0);
  return {
    events: new Set(deliveries.map(({ n }) => n)).size,
    deliveries: deliveries.length,
    lost: deliveries.map(key).filter((each) => !takings.has(each)),
    repeated: repeated.map(([of]) => of),
    repeatedNotInFlight: innocent.map(([of]) => of),
    strandedSeconds: Math.max(0, ...ends.map((at) => (at - restartedAt) / 1_000)),
  };
}
