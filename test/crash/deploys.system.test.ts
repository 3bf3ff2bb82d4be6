// Senders that are asked to stop, as a deploy does, send no message twice and lose none, however slow the relay is.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { campaignCounts } from '../../src/features/campaigns/campaign-counts.ts';
import { blocksOf, writeCampaign } from '../support/campaigns.ts';
import { untilQuiet } from '../support/crash/findings.ts';
import type { Role } from '../support/crash/role.ts';
import { scale } from '../support/crash/scale.ts';
import { accountOf, type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { eventually } from '../support/eventually.ts';
import { queueEmails } from '../support/queued.ts';

const { relaysMs, stops } = scale.deploys;
/** Enough that every sender finds a first batch of ten for each of its connections at each start. */
const MESSAGES = 600;
const RECIPIENTS = 400;
const LIMIT_MS = 60_000;
/** The rest of a stop, such as detaching from the engine, on a busy machine. A batch of ten would take longer. */
const STOP_MS = 12_000;

let stage: CrashStage;

beforeAll(async () => {
  stage = await openCrashStage({
    furtherSenders: 2,
    settings: { PUBLIC_URL: 'https://carillon.crash.test' },
  });
}, 180_000);
afterAll(async () => {
  await stage.close();
}, 60_000);
afterEach(() => stage.requireNoDeaths());

const arrivalsOf = (prefix: string) => stage.sink.arrivals.filter(({ to }) => to.startsWith(prefix));

/** Waits until a connection of the sender has sent a final dot since the sender was started. */
async function untilSending({ name }: Role, startedAt: number): Promise<void> {
  await eventually(() => {
    const isSending = stage.sink.arrivals.some(({ client, at }) => client === name && at > startedAt);
    if (!isSending) throw new Error(`${name} sends nothing:\n${stage.lastLines()}`);
  }, LIMIT_MS);
}

/** Stops and starts a sender, as often as its part of all stops. @returns how long each stop took, in ms */
async function replace(sender: Role): Promise<number[]> {
  const tookMs: number[] = [];
  let startedAt = 0;
  for (let n = 0; n < stops / stage.senders.length; n += 1) {
    await untilSending(sender, startedAt);
    const askedAt = Date.now();
    await sender.stop();
    tookMs.push(Date.now() - askedAt);
    startedAt = Date.now();
    await sender.start();
  }
  return tookMs;
}

describe.each(relaysMs)('a relay that replies to each mail after %i ms', (replyMs) => {
  it('gets each message once, of the API and of a campaign, although senders stop all the time', async () => {
    const { database, sink, senders } = stage;
    const account = await accountOf(stage);
    const [single, campaign] = [`single-${replyMs}-`, `campaign-${replyMs}-`];
    await Promise.all(senders.map((sender) => sender.stop()));
    sink.replyMs = replyMs;
    await queueEmails(database, account, MESSAGES, { prefix: single });
    const { campaignId } = await writeCampaign(database, account, {
      recipients: RECIPIENTS,
      blockSize: 50,
      prefix: campaign,
    });
    await Promise.all(senders.map((sender) => sender.start()));
    const tookMs = (await Promise.all(senders.map(replace))).flat();
    // A stop takes no longer than the reply to a final dot.
    expect(tookMs.length).toBeGreaterThanOrEqual(stops);
    expect(Math.max(...tookMs)).toBeLessThan(replyMs + STOP_MS);

    sink.replyMs = 0;
    await untilQuiet(database);
    await eventually(
      async () =>
        expect(
          (await blocksOf(database, campaignId)).map(({ closed, reserved }) => [closed, reserved]),
        ).toEqual(Array.from({ length: RECIPIENTS / 50 }, () => [true, 0])),
      LIMIT_MS,
    );
    for (const [prefix, count] of [
      [single, MESSAGES],
      [campaign, RECIPIENTS],
    ] as const) {
      const { rows } = await database.pool.query<{ status: string; attempts: number; count: number }>(
        `select status, max(attempt_count)::int as attempts, count(*)::int from messages
         where starts_with(to_key, $1) group by status`,
        [prefix],
      );
      expect(rows).toEqual([{ status: 'sent', attempts: 1, count }]);
      expect(arrivalsOf(prefix)).toHaveLength(count);
      expect(new Set(arrivalsOf(prefix).map(({ to }) => to)).size).toBe(count);
    }
    const counts = await campaignCounts(database.pool, [campaignId]);
    expect(counts.get(campaignId)).toMatchObject({ audience: RECIPIENTS, sent: RECIPIENTS, remaining: 0 });
  }, 1_200_000);
});
