import { type DeliveryKey, publish, type Subscriber, type Receipt } from './events.ts';
import { untilQuiet } from './findings.ts';
import { fractionOf } from './send-and-kill.ts';
import type { CrashStage } from './stage.ts';

/** What a test records when it kills a process. */
interface EventKill {
  /** Webhook deliveries that may arrive twice, provided that they first arrived before the kill. */
  inFlight: DeliveryKey[];
  /** Webhook deliveries that must wait for the restart. */
  stranded: DeliveryKey[];
  /** When the killed process was started again, in milliseconds since the epoch. */
  restartedAt: number;
}

/** The result of a run, from the subscriber and the database. */
export interface EventFindings {
  events: number;
  deliveries: number;
  /** Webhook deliveries that the subscriber never acknowledged. */
  lost: string[];
  repeated: string[];
  /** Deliveries acknowledged more than once although they were not in progress at the kill. */
  repeatedNotInFlight: string[];
  /** Seconds from the restart to the last receipt of a stranded delivery; 0 if all arrived before. */
  strandedSeconds: number;
}

interface EventRun {
  /** The subject of the run's events. Together with the seed, it also decides the moment of the kill. */
  name: string;
  seed: number;
  count: number;
  /** When to kill: when a retry arrives (`retry`), or by default when any event arrives. */
  moment?: 'retry';
  /** Kills before its first `await`. */
  kill: () => Promise<EventKill>;
}

const MOMENT_LIMIT_MS = 60_000;
/** How long the subscriber may take to read what was written before the kill. */
const READ_DELAY_MS = 1_000;

/** Resolves in the turn of the event loop in which an event arrives, before it is acknowledged. */
function eventArrives(subscriber: Subscriber, after: number, retried: boolean): Promise<Receipt> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error('no event arrived to kill at')), MOMENT_LIMIT_MS);
    subscriber.onReceipt = (receipt) => {
      if (subscriber.receipts.length < after || (retried && !receipt.retried)) return;
      subscriber.onReceipt = null;
      clearTimeout(limit);
      resolve(receipt);
    };
  });
}

async function deliveriesOf(stage: CrashStage, name: string): Promise<(DeliveryKey & { n: number })[]> {
  const { rows } = await stage.database.pool.query<DeliveryKey & { n: number }>(
    `select d.event_id as "eventId", d.webhook_id as "webhookId", (e.data->>'message_id')::int as n
     from webhook_deliveries d join events e on e.id = d.event_id and e.created_at = d.created_at
     where e.data->>'subject' = $1`,
    [name],
  );
  return rows;
}

/**
 * Publishes events and kills a process after 10 to 60 percent of them, as the seed decides. Then waits until no work is
 * left, and compares what arrived with the database.
 */
export async function publishAndKill(
  stage: CrashStage,
  subscriber: Subscriber,
  run: EventRun,
): Promise<EventFindings> {
  const name = `${run.name}-${run.seed}`;
  const first = subscriber.receipts.length;
  const share = 0.1 + 0.5 * fractionOf(run.seed, `events of ${run.name}`);
  const published = publish(stage, subscriber, { name, count: run.count });
  const killAtMoment = async () => {
    const after = first + Math.ceil(run.count * 2 * share);
    const { at: killedAt } = await eventArrives(subscriber, after, run.moment === 'retry');
    return { killedAt, ...(await run.kill()) };
  };
  const [{ killedAt, inFlight, stranded, restartedAt }] = await Promise.all([
    killAtMoment(),
    published,
  ]).finally(() => {
    subscriber.onReceipt = null;
  });
  await untilQuiet(stage.database);

  const deliveries = await deliveriesOf(stage, name);
  const receipts = Map.groupBy(subscriber.receipts.slice(first), (receipt) => receipt.key);
  const key = ({ eventId, webhookId }: DeliveryKey) => subscriber.keyOf(eventId, webhookId);
  const repeated = [...receipts].filter(([, each]) => each.length > 1);
  const mayRepeat = new Set(inFlight.map(key));
  const unexplained = repeated.filter(
    ([of, [receipt]]) => !mayRepeat.has(of) || (receipt?.at ?? 0) > killedAt + READ_DELAY_MS,
  );
  const ends = stranded.map((each) => receipts.get(key(each))?.at(-1)?.at ?? 0);
  return {
    events: new Set(deliveries.map(({ n }) => n)).size,
    deliveries: deliveries.length,
    lost: deliveries.map(key).filter((each) => !receipts.has(each)),
    repeated: repeated.map(([of]) => of),
    repeatedNotInFlight: unexplained.map(([of]) => of),
    strandedSeconds: Math.max(0, ...ends.map((at) => (at - restartedAt) / 1_000)),
  };
}
