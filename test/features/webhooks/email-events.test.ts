// Subscribers receive each event of an email once per cause, with the fields that its type declares.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import type { DeliveryFact } from '../../../src/delivery/ledger/facts/delivery-fact.ts';
import { recordFacts } from '../../../src/delivery/ledger/facts/facts.ts';
import { decideFetches } from '../../../src/features/tracking/decisions.ts';
import { storeHits } from '../../../src/features/tracking/hits.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { testEvents } from '../../support/events.ts';
import { eventually } from '../../support/eventually.ts';
import { type Receiver, startReceiver } from '../../support/https-receiver.ts';
import {
  startSmtpServer,
  startTestSender,
  type TestSender,
  type TestSmtpServer,
} from '../../support/sending.ts';
import { CHROME, hitOn, targetsOf } from '../../support/tracking.ts';
import { addWebhook, type RunningLoop, startWebhookLoop } from '../../support/webhooks.ts';

let api: TestApi;
let receiver: Receiver;
let server: TestSmtpServer;
let sender: TestSender;
let loop: RunningLoop;
let secret: string;

beforeAll(async () => {
  api = await startTestApi();
  receiver = await startReceiver();
  server = await startSmtpServer();
  server.answers.rcpt = (to) => (to.startsWith('nobody') ? '550 5.1.1 No such user' : null);
  server.answers.body = ({ to }) => (to.startsWith('strict') ? '554 5.7.1 Rejected as spam' : null);
  const names = ['sent', 'delivered', 'bounced', 'complained', 'opened', 'clicked', 'failed'] as const;
  const events = names.map((name) => `email.${name}` as const);
  ({ secret } = await addWebhook(api.database, api, receiver.url('/', '127.0.0.1'), events));
  sender = await startTestSender({ url: api.database.url, port: server.port });
  loop = await startWebhookLoop(api.database);
});
afterAll(async () => {
  await sender.stop();
  await loop.stop();
  await server.stop();
  await receiver.close();
  await api.close();
});

async function send(to: string, key: string | null): Promise<number> {
  const body = { channel: 'email', to, subject: 'Your receipt', body: 'Hi', tags: { order: '1042' } };
  const headers: Record<string, string> = key === null ? {} : { 'Idempotency-Key': key };
  const sent = await api.request('POST', '/v1/my/messages', { body, headers });
  expect(sent.status).toBe(201);
  return Number(sent.body.id);
}

interface SeenEvent {
  id: string;
  type: string;
  timestamp: string;
  data: Record<string, unknown>;
}

/** The events that the subscriber has received, each verified. */
function seen(): SeenEvent[] {
  return receiver.requests.map(({ headers, body }) => {
    const event = new Webhook(secret).verify(body, headers as Record<string, string>) as Omit<
      SeenEvent,
      'id'
    >;
    return { id: String(headers['webhook-id']), ...event };
  });
}

const about = (id: number) => seen().filter(({ data }) => data.message_id === id);
const typesAbout = (id: number) =>
  about(id)
    .map(({ type }) => type)
    .sort();

const fact = (
  messageId: number,
  type: DeliveryFact['type'],
  changes: Partial<DeliveryFact> = {},
): DeliveryFact => ({
  ...{ accountId: api.accountId, messageId, type, source: { kind: 'mail' }, occurredAt: new Date() },
  ...{ providerMessageId: null, response: null, bounce: null, failure: null, suppresses: true },
  ...changes,
});

async function report(...facts: DeliveryFact[]): Promise<void> {
  const { queued } = await inTransaction(api.database.pool, (trx) => recordFacts(trx, facts, testEvents));
  for (const channel of queued.keys()) loop.waker.wake(channel);
}

async function fetchLinks(messageId: number): Promise<void> {
  const [pixel, one, two] = targetsOf(api, messageId, 2);
  if (!pixel || !one || !two) throw new Error('no targets');
  const at = (seconds: number) => new Date(Date.now() - 600_000 + seconds * 1_000);
  const hits = [
    hitOn(pixel, at(0)),
    hitOn(pixel, at(5)),
    hitOn(one, at(60)),
    hitOn(one, at(90)),
    hitOn(two, at(120)),
  ];
  await storeHits(api.database.pool, [...hits, hitOn(one, at(150), { method: 'HEAD' })]);
  const { pool } = api.database;
  while ((await decideFetches({ pool, events: testEvents }, new Date())).fetches > 0);
}

const hardBounce = {
  type: 'hard',
  subtype: 'no_such_mailbox',
  diagnostic: '550 5.1.1 No such user',
} as const;

const outcomes = async () =>
  (
    await api.database.pool.query(
      `select sum(attempted)::int as attempted, sum(hard_bounces)::int as hard_bounces, sum(complaints)::int as complaints
       from account_outcomes where account_id = $1`,
      [api.accountId],
    )
  ).rows;

it('reports what happened to each email, with the fields of its type, once for each cause', async () => {
  const read = await send('ann@example.com', 'receipt-1');
  const bounced = await send('nobody@example.com', null);
  const refused = await send('strict@example.com', null);
  await eventually(() => {
    expect([read, bounced, refused].map(typesAbout)).toEqual([
      ['email.sent'],
      ['email.bounced'],
      ['email.failed'],
    ]);
  });
  const delivered = fact(read, 'delivered', { response: '250 2.0.0 OK' });
  await report(delivered, delivered);
  await fetchLinks(read);
  await fetchLinks(read);
  await report(fact(read, 'complained'), delivered);
  await report(fact(read, 'complained'), fact(bounced, 'bounced', { bounce: hardBounce }));
  const all = ['clicked', 'clicked', 'complained', 'delivered', 'opened', 'sent'].map(
    (name) => `email.${name}`,
  );
  await eventually(() => expect(typesAbout(read)).toEqual(all));

  const common = { to: 'ann@example.com', subject: 'Your receipt', tags: { order: '1042' } };
  const mine = { ...common, message_id: read, idempotency_key: 'receipt-1' };
  const dataOf = (type: string) =>
    about(read)
      .filter((event) => event.type === type)
      .map(({ data }) => data);
  expect(dataOf('email.sent')).toEqual([{ ...mine, provider: 'smtp' }]);
  expect(dataOf('email.delivered')).toEqual([{ ...mine, smtp_response: '250 2.0.0 OK' }]);
  expect(dataOf('email.complained')).toEqual([mine]);
  expect(dataOf('email.opened')).toEqual([{ ...mine, user_agent: CHROME }]);
  const clicks = dataOf('email.clicked').sort((a, b) => String(a.url).localeCompare(String(b.url)));
  const urls = targetsOf(api, read, 2)
    .slice(1)
    .map(({ url }) => url);
  expect(clicks).toEqual(urls.map((url) => ({ ...mine, url, user_agent: CHROME })));
  // A field that was not sent is absent.
  expect(about(bounced).map(({ data }) => data)).toEqual([
    {
      ...{ ...common, to: 'nobody@example.com', message_id: bounced },
      bounce: { type: 'hard', subtype: 'no_such_mailbox', diagnostic: expect.stringContaining('5.1.1') },
    },
  ]);
  expect(about(refused).map(({ data }) => data)).toEqual([
    {
      ...{ ...common, to: 'strict@example.com', message_id: refused },
      failure: { code: 'content_rejected', message: expect.stringContaining('5.7.1') },
    },
  ]);
  expect(new Set(seen().map(({ id }) => id)).size).toBe(seen().length);
  // The figures that the brakes read follow from the same reports.
  expect(await outcomes()).toEqual([{ attempted: 2, hard_bounces: 1, complaints: 1 }]);
  const { list } = await api.request('GET', '/v1/my/suppressions');
  expect(list.map(({ email, reason }) => [email, reason]).sort()).toEqual([
    ['ann@example.com', 'complaint'],
    ['nobody@example.com', 'hard_bounce'],
  ]);
});

it('reports nothing but the refusal of an email to a suppressed address', async () => {
  const id = await send('nobody@example.com', null);
  await eventually(() => expect(typesAbout(id)).toEqual(['email.failed']));
  expect(about(id)[0]?.data).toMatchObject({ failure: { code: 'suppressed' } });
});
