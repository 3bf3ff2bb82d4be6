// An unknown message is handed over again soon with an idempotency key, or after 120 s without a callback.
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { intendMessages } from '../../../src/delivery/ledger/intend/queue-batch.ts';
import type { DeliveryFact } from '../../../src/delivery/ledger/facts/delivery-fact.ts';
import { recordFacts } from '../../../src/delivery/ledger/facts/facts.ts';
import {
  addProvider,
  findProviderRow,
  requireProviderKind,
} from '../../../src/delivery/wire/providers/named.ts';
import { messageClasses } from '../../../src/delivery/terms/message.ts';
import { claimBacklog } from '../../../src/delivery/ledger/claim/claim.ts';
import { recoverDeadSender } from '../../../src/delivery/ledger/upkeep/dead-process.ts';
import {
  createNamedChannels,
  type NamedChannels,
} from '../../../src/delivery/sender/channels/named-channel.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { rerouteBacklog } from '../../../src/delivery/sender/failover/reroute.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { testEvents } from '../../support/events.ts';
import { eventually } from '../../support/eventually.ts';
import { answerJson, type ProviderApi, startProviderApi } from '../../support/provider-api.ts';
import {
  insertAccount,
  insertSender,
  makeAllDue,
  queueEmails,
  type QueuedAccount,
} from '../../support/queued.ts';
import { emailSettings, startTestSender, TEST_LIMITS, type TestSender } from '../../support/sending.ts';
import { callbackSettings } from '../../support/signed-callbacks.ts';
import { testKeyring } from '../../support/webhooks.ts';

const keyring = createKeyring('a secret of at least thirty-two characters');
const DEAD = 71;

let test: TestDatabase;
let service: ProviderApi;
let channels: NamedChannels;
let providerId: number;
let account: QueuedAccount;
let sender: TestSender | null;
/** The responses that the service has not sent yet. */
let waiting: ServerResponse[];

beforeAll(async () => {
  [test, service] = await Promise.all([createTestDatabase(), startProviderApi()]);
  channels = createNamedChannels({
    keyring,
    providers: service.deps,
    settings: emailSettings(),
    optOut: () => undefined,
  });
  const settings = { ...callbackSettings.sendgrid, base_url: service.baseUrl };
  const kind = requireProviderKind('sendgrid');
  providerId = (await addProvider(test.database.pool, keyring, { name: 'acme', kind, settings })).id;
  account = await insertAccount(test.database);
  await insertSender(test.database, DEAD);
});
afterAll(async () => {
  await channels.close();
  await service.close();
  await test.drop();
});
beforeEach(() => {
  sender = null;
  waiting = [];
  service.requests = [];
  service.answer = (_request, response) => void waiting.push(response);
});
afterEach(async () => {
  for (const response of waiting) response.destroy();
  await sender?.stop();
  await test.database.pool.query('truncate messages, message_events, send_queue, handovers cascade');
});

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  test.database.pool.query<Row>(text, values).then(({ rows }) => rows);

describe('a message of a provider with idempotency keys whose outcome is unknown', () => {
  const campaign = { class: messageClasses.campaign, campaign_id: 1 };

  /** Adds Resend, which is repeatable. */
  async function addResend() {
    const webhook_secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
    const settings = { api_key: 're_123456789', webhook_secret, base_url: service.baseUrl };
    const kind = requireProviderKind('resend');
    return (await addProvider(test.database.pool, keyring, { name: 'keyed', kind, settings })).id;
  }

  it('is handed over again soon, whatever its class, and each time counts as an attempt', async () => {
    const id = await addResend();
    await queueEmails(test.database, account, 1, { providerId: id, source: campaign });
    const row = await findProviderRow(test.database.pool, 'keyed');
    if (!row) throw new Error('no provider');
    service.answer = (_request, response) => void response.writeHead(500).end('{}');
    sender = await startTestSender({ url: test.url, port: 0, channel: channels.open(row) });
    await eventually(() => expect(service.requests.length).toBeGreaterThan(1));
    const [first, second] = service.requests;
    expect(second?.headers['idempotency-key']).toBe(first?.headers['idempotency-key']);
    expect(second?.body).toBe(first?.body);
    await eventually(async () =>
      expect(await query('select status, attempt_count, provider from messages')).toEqual([
        { status: 'unknown', attempt_count: 2, provider: 'keyed' },
      ]),
    );
    // The provider fails, but another one would not know the key.
    await query('update accounts set email_provider_ids = $2 where id = $1', [account.accountId, [id, 0]]);
    await query('update send_queue set due_at = now(), owner = null');
    const backlog = { channel: 'email', class: 2, accountId: account.accountId, providerId: id } as const;
    await sender.stop();
    sender = null;
    const [untried] = await queueEmails(test.database, account, 1, { providerId: id, source: campaign });
    expect(await rerouteBacklog(test.database.pool, backlog)).toEqual({ moved: 1, providerId: 0 });
    expect(await query('select message_id from send_queue where provider_id = 0')).toEqual([
      { message_id: untried },
    ]);
  });
});

describe('a message of a provider with callbacks whose outcome is unknown', () => {
  it('waits 120 s for its callback, and is then handed over again', async () => {
    await queueEmails(test.database, account, 1, { providerId });
    const row = await findProviderRow(test.database.pool, 'acme');
    if (!row) throw new Error('no provider');
    sender = await startTestSender({ url: test.url, port: 0, channel: channels.open(row) });
    await eventually(() => expect(waiting).toHaveLength(1));
    waiting.shift()?.destroy();
    // Both times are those of the transaction that recorded the outcome.
    const waits = () =>
      query<{ seconds: number }>(
        `select extract(epoch from q.due_at - m.updated_at)::int as seconds
         from messages m join send_queue q on q.message_id = m.id where m.status = 'unknown' and q.owner is null`,
      );
    await eventually(async () => expect(await waits()).toEqual([{ seconds: 120 }]));
    expect(service.requests).toHaveLength(1);
    await makeAllDue(test.database);
    await eventually(() => expect(service.requests).toHaveLength(2));
  });

  it.each([
    ['is not handed over again if the provider turns out to have it', true],
    ['is handed over again if the provider does not show it', false],
  ])('%s', async (_rule, has) => {
    const settings = { server_token: 'a-server-token', base_url: service.baseUrl };
    const name = `looks-${String(has)}`;
    const kind = requireProviderKind('postmark');
    const { id } = await addProvider(test.database.pool, keyring, { name, kind, settings });
    await queueEmails(test.database, account, 1, { providerId: id });
    const row = await findProviderRow(test.database.pool, name);
    if (!row) throw new Error('no provider');
    sender = await startTestSender({ url: test.url, port: 0, channel: channels.open(row) });
    await eventually(() => expect(waiting).toHaveLength(1));
    const [first] = service.requests;
    const sent = JSON.parse(first?.body ?? '[]') as { Metadata: { carillon_reference: string } }[];
    waiting.shift()?.destroy();
    await eventually(async () =>
      expect(await query(`select 1 from messages where status = 'unknown'`)).toHaveLength(1),
    );
    const found = [{ MessageID: 'pm-1', Metadata: sent[0]?.Metadata }];
    service.answer = (request, response) => {
      const body =
        request.method === 'GET' ? { Messages: has ? found : [] } : [{ ErrorCode: 0, MessageID: 'pm-2' }];
      return answerJson(200, body)(request, response);
    };
    await makeAllDue(test.database);
    await eventually(async () =>
      expect(await query('select status, provider_message_id as id from messages')).toEqual([
        { status: 'sent', id: has ? 'pm-1' : 'pm-2' },
      ]),
    );
    expect(service.requests.map(({ method }) => method)).toEqual(
      has ? ['POST', 'GET'] : ['POST', 'GET', 'POST'],
    );
  });

  /** Queues a transactional message and one of a campaign, and intends both, as a sender that then dies. */
  async function intendTwo(): Promise<[number, number]> {
    const { pool } = test.database;
    const source = { class: messageClasses.campaign, campaign_id: 1 };
    const [transactional] = await queueEmails(test.database, account, 1, { providerId });
    const [campaign] = await queueEmails(test.database, account, 1, { providerId, source });
    const base = {
      channel: 'email',
      accountId: account.accountId,
      providerId,
      owner: DEAD,
      quantum: 10,
    } as const;
    for (const priority of [messageClasses.transactional, messageClasses.campaign]) {
      const claims = await claimBacklog(pool, { ...base, class: priority }, TEST_LIMITS);
      const intent = {
        owner: DEAD,
        seq: priority,
        provider: 'acme',
        keyring: testKeyring,
        reportSeconds: 120,
        claims,
      };
      expect(await intendMessages(pool, intent)).toHaveLength(1);
    }
    return [transactional ?? 0, campaign ?? 0];
  }

  it('waits 120 s if its sender died and it is transactional', async () => {
    const [transactional] = await intendTwo();
    await recoverDeadSender(test.database.pool, DEAD);
    expect(await query('select status from messages')).toEqual([
      { status: 'unknown' },
      { status: 'unknown' },
    ]);
    const waits = `select message_id, due_at > now() + interval '60 seconds' as later from send_queue`;
    expect(await query(waits)).toEqual([{ message_id: transactional, later: true }]);
  });

  it('is settled by its callback if its sender died', async () => {
    const ids = await intendTwo();
    const { pool } = test.database;
    await recoverDeadSender(pool, DEAD);
    const delivered = (messageId: number, provider: string): DeliveryFact => ({
      accountId: account.accountId,
      messageId,
      source: { kind: 'callback', provider },
      type: 'delivered',
      occurredAt: new Date(),
      ...{ providerMessageId: 'p-1', response: null, bounce: null, failure: null, suppresses: false },
    });
    const record = async (provider: string) => {
      const facts = ids.map((id) => delivered(id, provider));
      return inTransaction(pool, async (trx) => (await recordFacts(trx, facts, testEvents)).recorded);
    };
    expect(await record('other')).toBe(0);
    expect(await record('acme')).toBe(2);
    const settled = { status: 'delivered', provider: 'acme', sent_attempt: 1 };
    expect(await query('select status, provider, sent_attempt from messages')).toEqual([settled, settled]);
    expect(await query('select 1 from send_queue')).toEqual([]);
    expect(await query(`select data ->> 'provider' as provider from message_events`)).toEqual([
      { provider: 'acme' },
      { provider: 'acme' },
    ]);
  });
});
