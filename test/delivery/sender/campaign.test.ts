// A campaign sends each recipient one mail, respects a pause, and starves neither other mail nor other accounts.
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import {
  holdRetries,
  releaseRetries,
  wakeCampaign,
} from '../../../src/delivery/ledger/blocks/campaign-blocks.ts';
import { campaignCounts } from '../../../src/features/campaigns/campaign-counts.ts';
import { lockCampaignForChange } from '../../../src/delivery/ledger/ownership/campaign-lock.ts';
import type { ContentEngine } from '../../../src/delivery/content/templates/content.ts';
import { createContentEngine } from '../../../src/delivery/content/templates/engine.ts';
import { createSharedValues } from '../../../src/delivery/sender/compose/shared-values.ts';
import { createVersionReader } from '../../../src/delivery/content/templates/versions.ts';
import { createSmtpProvider } from '../../../src/delivery/wire/providers/smtp/hand-over.ts';
import { createEmailChannel } from '../../../src/delivery/sender/email/hand-over.ts';
import type { ContentSources } from '../../../src/delivery/sender/compose/version-groups.ts';
import { createRecipientPages } from '../../../src/features/unsubscribe/service.ts';
import { createBrandOf, brandValues } from '../../../src/features/templates/brand-parts.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { blocksOf, writeCampaign } from '../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { insertAccount, type QueuedAccount, queueEmails } from '../../support/queued.ts';
import {
  emailSettings,
  receivedAtLeast,
  startSmtpServer,
  startTestSender,
  type TestSender,
  type TestSmtpServer,
} from '../../support/sending.ts';
import { testKeyring } from '../../support/webhooks.ts';

const PUBLIC_URL = 'https://app.test';

let test: TestDatabase;
let engine: ContentEngine;
let server: TestSmtpServer;
let account: QueuedAccount;
let senders: TestSender[] = [];

beforeAll(async () => {
  test = await createTestDatabase();
  engine = createContentEngine({ threads: 1 });
});
afterAll(async () => {
  await engine.close();
  await test.drop();
});
beforeEach(async () => {
  server = await startSmtpServer();
  account = await insertAccount(test.database);
});
afterEach(async () => {
  await Promise.all(senders.map((sender) => sender.stop()));
  senders = [];
  await server.stop();
});

/** Set up as in a sender process. */
function contents(): ContentSources {
  const { pool } = test.database;
  const brandOf = createBrandOf(pool, testKeyring, PUBLIC_URL);
  return {
    versions: createVersionReader(pool),
    shared: createSharedValues(pool, async (scope) => brandValues(await brandOf(scope))),
    engine,
    pages: createRecipientPages(testKeyring, PUBLIC_URL),
  };
}

async function startSenders(count: number, connections = 4) {
  for (let n = 0; n < count; n += 1) {
    const target = {
      host: '127.0.0.1',
      port: server.port,
      security: 'none',
      clientName: 'mail.test',
    } as const;
    const provider = createSmtpProvider({ target, connections });
    const channel = createEmailChannel(provider, { ...emailSettings(), contents: contents() });
    senders.push(await startTestSender({ url: test.url, port: server.port, channel }));
  }
}

const countsOf = async (campaignId: number) =>
  (await campaignCounts(test.database.pool, [campaignId])).get(campaignId);

const recipients = (prefix: string) =>
  server.received.map(({ to }) => to).filter((to) => to.startsWith(prefix));

async function openBlocks(campaignId: number): Promise<number> {
  return (await blocksOf(test.database, campaignId)).filter(({ closed }) => !closed).length;
}

const setStatus = (campaignId: number, status: string) =>
  inTransaction(test.database.pool, async (trx) => {
    await lockCampaignForChange(trx, campaignId);
    await trx.query('update campaigns set status = $2 where id = $1', [campaignId, status]);
    await (status === 'paused' ? holdRetries : releaseRetries)(trx, campaignId);
  });

it('sends each recipient of a campaign one mail, with two senders, and closes all blocks', async () => {
  const { campaignId } = await writeCampaign(test.database, account, {
    recipients: 600,
    blockSize: 100,
    prefix: 'all-',
  });
  await startSenders(2);
  await eventually(async () => expect(await openBlocks(campaignId)).toBe(0), 30_000);
  expect(new Set(recipients('all-')).size).toBe(600);
  expect(recipients('all-')).toHaveLength(600);
  expect(await countsOf(campaignId)).toMatchObject({ audience: 600, sent: 600, remaining: 0 });
  const { rows } = await test.database.pool.query('select 1 from handovers');
  expect(rows).toEqual([]);
}, 60_000);

it('leaves connections for transactional mail while a campaign hangs', async () => {
  let answer = () => {};
  const answered = new Promise<void>((resolve) => (answer = resolve));
  await server.stop();
  server = await startSmtpServer({
    onRcptTo: (address, _session, done) => {
      if (!address.address.startsWith('hang-')) return done();
      void answered.then(() => done());
    },
  });
  const { campaignId } = await writeCampaign(test.database, account, { recipients: 300, prefix: 'hang-' });
  await startSenders(1);
  await eventually(async () => {
    const { rowCount } = await test.database.pool.query('select 1 from handovers where campaign_id = $1', [
      campaignId,
    ]);
    expect(rowCount).toBe(2);
  });
  await queueEmails(test.database, account, 5, { prefix: 'now-' });
  await eventually(() => expect(recipients('now-')).toHaveLength(5));
  expect(recipients('hang-')).toEqual([]);
  answer();
  await eventually(async () => expect(await openBlocks(campaignId)).toBe(0), 30_000);
}, 60_000);

it('sends nothing more after a pause, and the rest after the campaign was resumed', async () => {
  const { campaignId } = await writeCampaign(test.database, account, {
    recipients: 800,
    blockSize: 200,
    prefix: 'pause-',
  });
  server.answers.rcpt = (to) => (Number(/\d+/.exec(to)?.[0]) % 10 === 0 ? '450 4.2.0 later' : null);
  await startSenders(2);
  await receivedAtLeast(server, 50);
  await setStatus(campaignId, 'paused');
  await eventually(async () => {
    const { rowCount } = await test.database.pool.query('select 1 from handovers');
    expect(rowCount).toBe(0);
  });
  const before = recipients('pause-').length;
  expect(before).toBeLessThan(720);
  await eventually(async () => {
    const blocks = await blocksOf(test.database, campaignId);
    expect(blocks.filter(({ owner }) => owner !== null)).toEqual([]);
  });
  expect(recipients('pause-')).toHaveLength(before);
  expect(await countsOf(campaignId)).toMatchObject({ audience: 800, sent: before, remaining: 800 - before });
  server.answers.rcpt = () => null;
  await setStatus(campaignId, 'active');
  await test.database.pool.query('update send_queue set due_at = now() where campaign_id = $1', [campaignId]);
  wakeCampaign({ wake: () => undefined }, { accountId: account.accountId, channel: 'email', providerId: 0 });
  await eventually(async () => {
    expect(await countsOf(campaignId)).toMatchObject({ sent: 800, remaining: 0 });
    // A retry that the sender deferred once more is made due, too.
    await test.database.pool.query(
      'update send_queue set due_at = now() where campaign_id = $1 and owner is null',
      [campaignId],
    );
  }, 60_000);
  expect(recipients('pause-')).toHaveLength(800);
  expect(new Set(recipients('pause-')).size).toBe(800);
}, 90_000);

it('gives the blocks of a stopped sender to another sender', async () => {
  const { campaignId } = await writeCampaign(test.database, account, { recipients: 1_000, prefix: 'stop-' });
  await startSenders(1);
  await receivedAtLeast(server, 100);
  await senders.pop()?.stop();
  const before = recipients('stop-').length;
  expect(before).toBeLessThan(1_000);
  const blocks = await blocksOf(test.database, campaignId);
  expect(blocks.filter(({ owner }) => owner !== null)).toEqual([]);
  expect(blocks.some(({ closed }) => !closed)).toBe(true);
  await startSenders(1);
  await eventually(async () => expect(await openBlocks(campaignId)).toBe(0), 30_000);
  expect(recipients('stop-')).toHaveLength(1_000);
  expect(new Set(recipients('stop-')).size).toBe(1_000);
}, 60_000);

it('does not starve the campaign of a second account', async () => {
  const first = await writeCampaign(test.database, account, {
    recipients: 3_000,
    blockSize: 1_000,
    prefix: 'big-',
  });
  await startSenders(1);
  await receivedAtLeast(server, 50);
  const other = await insertAccount(test.database);
  const second = await writeCampaign(test.database, other, { recipients: 100, prefix: 'small-' });
  await eventually(() => expect(recipients('small-')).toHaveLength(100), 30_000);
  expect(await openBlocks(first.campaignId)).toBeGreaterThan(0);
  expect(await countsOf(second.campaignId)).toMatchObject({ audience: 100 });
}, 60_000);

it('does not make a small campaign wait for a large one of the same account at a slow provider', async () => {
  await server.stop();
  server = await startSmtpServer({ onRcptTo: (_address, _session, done) => void setTimeout(done, 10) });
  await writeCampaign(test.database, account, { recipients: 2_000, blockSize: 100, prefix: 'large-' });
  await startSenders(1);
  await receivedAtLeast(server, 50);
  await writeCampaign(test.database, account, { recipients: 50, prefix: 'little-' });
  await eventually(() => expect(recipients('little-')).toHaveLength(50), 30_000);
  expect(recipients('large-').length).toBeLessThan(1_500);
}, 60_000);
