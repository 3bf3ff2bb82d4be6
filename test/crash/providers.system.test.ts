// A killed sender loses no message, and repeats none whose outcome an idempotency key or callback settles.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSending } from '../support/crash/client.ts';
import type { Role } from '../support/crash/role.ts';
import { scale } from '../support/crash/scale.ts';
import { type CrashService, startCrashService, type Taken } from '../support/crash/services.ts';
import { createSendingAccount, type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { eventually } from '../support/eventually.ts';

const { messages: count, waits } = scale.providers;
/** How long a message whose outcome is unknown waits for a report. */
const REPORT_MS = 120_000;

let stage: CrashStage;
let keyed: CrashService;
let unkeyed: CrashService;
const services: CrashService[] = [];
let keys: { keyed: string; unkeyed: string };

beforeAll(async () => {
  stage = await openCrashStage();
  const other = await createSendingAccount(stage.database);
  keyed = await startCrashService(stage, 'resend', stage.accountId);
  unkeyed = await startCrashService(stage, 'mailgun', other.accountId);
  services.push(keyed, unkeyed);
  keys = { keyed: stage.apiKey, unkeyed: other.apiKey };
}, 180_000);
afterAll(async () => {
  await Promise.all(services.map((service) => service.close()));
  await stage.close();
}, 60_000);

const query = async <Row extends object>(text: string, values: unknown[] = []) =>
  (await stage.database.pool.query<Row>(text, values)).rows;

/** Resolves when the services have taken this many messages together: the last ones have no response yet. */
const taken = (messages: number) =>
  new Promise<void>((resolve) => {
    const look = () => {
      if (keyed.taken.length + unkeyed.taken.length < messages) return;
      keyed.onTaken = unkeyed.onTaken = null;
      resolve();
    };
    keyed.onTaken = unkeyed.onTaken = look;
    look();
  });

async function killAndRestart(sender: Role): Promise<void> {
  await sender.kill();
  await sender.start();
}

/** Kills each sender once while every request of both services is without a response. */
async function killInMidRequest(): Promise<void> {
  const release = services.map((service) => service.hold());
  await eventually(() => {
    for (const { unanswered } of services) expect(unanswered).toBeGreaterThan(0);
  });
  for (const sender of stage.senders) await killAndRestart(sender);
  for (const each of release) each();
}

/** Sends through both providers, and kills one sender after the other meanwhile. */
async function sendAndKill(prefix: string, afterRestart?: () => Promise<unknown>): Promise<void> {
  const before = keyed.taken.length + unkeyed.taken.length;
  const start = (apiKey: string, name: string) =>
    startSending({
      apiPort: stage.apiPort,
      apiKey,
      prefix: `${prefix}-${name}`,
      count,
      parallel: 8,
      arrived: () => count,
      ahead: count * 2,
      outage: new AbortController().signal,
    });
  const runs = [start(keys.keyed, 'keyed'), start(keys.unkeyed, 'unkeyed')];
  const kills = async () => {
    for (const [n, share] of [0.2, 0.5, 0.8, 1.1, 1.4].entries()) {
      await taken(before + Math.ceil(count * share));
      // At first, while neither service can have taken everything.
      if (n === 0) await killInMidRequest();
      await killAndRestart(stage.senders[n % 2] as Role);
      if (n === 0) await afterRestart?.();
    }
  };
  await Promise.all([kills(), ...runs.map(({ done }) => done)]);
}

/** The messages of a run by status. */
async function statusesOf(prefix: string): Promise<Record<string, number>> {
  const rows = await query<{ status: string; count: number }>(
    'select status, count(*)::int as count from messages where starts_with(to_key, $1) group by status',
    [prefix],
  );
  return Object.fromEntries(rows.map((row) => [row.status, row.count]));
}

/** Repeats messages whose outcome is unknown later: a busy machine may need two minutes until the reports come. */
const postponeRepeats = () =>
  query(
    `update send_queue q set due_at = now() + interval '1 hour' from messages m
     where m.id = q.message_id and m.status = 'unknown' and q.owner is null`,
  );

/** Waits until nothing is handed over, and only messages whose outcome is unknown are left. */
const untilOnlyUnknown = () =>
  eventually(async () => {
    await postponeRepeats();
    const [row] = await query<{ due: number; intents: number }>(
      `select (select count(*)::int from handovers) as intents,
         (select count(*)::int from send_queue where due_at <= now() or owner is not null) as due`,
    );
    expect(row).toEqual({ due: 0, intents: 0 });
  }, 90_000);

const byRecipient = (service: CrashService, prefix: string): [string, Taken[]][] => [
  ...Map.groupBy(
    service.taken.filter(({ to }) => to.startsWith(prefix)),
    ({ to }) => to,
  ),
];

const repeatedOf = (all: [string, Taken[]][]) => all.filter(([, each]) => each.length > 1);
const differ = (all: [string, Taken[]][]) =>
  all.filter(([, each]) => new Set(each.map(({ reference, sha256 }) => reference + sha256)).size > 1);

async function unknownsOf(prefix: string): Promise<number> {
  const rows = await query(
    `select distinct e.message_id from message_events e join messages m on m.id = e.message_id
     where e.type = 'unknown' and starts_with(m.to_key, $1)`,
    [prefix],
  );
  return rows.length;
}

describe('senders that are killed while two named providers send', () => {
  if (waits) {
    it('repeat a message without a callback after two minutes, and not before', async () => {
      await sendAndKill('silent');
      await eventually(
        async () => expect(await statusesOf('silent-unkeyed-')).toEqual({ sent: count }),
        REPORT_MS + 90_000,
      );
      const mails = byRecipient(unkeyed, 'silent-unkeyed-');
      expect(mails).toHaveLength(count);
      expect(repeatedOf(mails).length).toBeGreaterThan(0);
      const waited = repeatedOf(mails).map(([, each]) => (each.at(-1)?.at ?? 0) - (each[0]?.at ?? 0));
      expect(Math.min(...waited)).toBeGreaterThanOrEqual(REPORT_MS);
      expect(differ(mails)).toEqual([]);
      expect(await statusesOf('silent-keyed-')).toEqual({ sent: count });
    }, 400_000);
  }

  it('lose nothing, and send nothing twice that a key or a callback settles', async () => {
    await sendAndKill('told', postponeRepeats);
    await untilOnlyUnknown();
    const [unknownKeyed, unknown] = [await unknownsOf('told-keyed-'), await unknownsOf('told-unkeyed-')];
    expect(unknownKeyed).toBeGreaterThan(0);
    expect(unknown).toBeGreaterThan(0);

    unkeyed.startReports();
    // What the service has is settled by its callbacks. The rest was never sent, and waits for two minutes.
    await eventually(async () => {
      const settled = byRecipient(unkeyed, 'told-unkeyed-').length;
      expect(await statusesOf('told-unkeyed-')).toMatchObject({ delivered: settled });
    }, 60_000);
    await query('update send_queue set due_at = now() where owner is null');
    await eventually(async () => {
      expect(await statusesOf('told-unkeyed-')).toEqual({ delivered: count });
      expect(await statusesOf('told-keyed-')).toEqual({ sent: count });
    }, 90_000);

    const [withKeys, without] = [byRecipient(keyed, 'told-keyed-'), byRecipient(unkeyed, 'told-unkeyed-')];
    expect([withKeys.length, without.length]).toEqual([count, count]);
    expect(repeatedOf(without)).toEqual([]);
    // The service recognizes repetitions: one key for each message, and the same request.
    expect(new Set(withKeys.flatMap(([, each]) => each.map(({ reference }) => reference))).size).toBe(count);
    expect(differ(withKeys)).toEqual([]);
    expect(await query('select 1 from send_queue')).toEqual([]);
  }, 300_000);
});
