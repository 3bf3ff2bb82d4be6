// After a 2xx to a suppression or unsubscribe, only messages with an earlier intent leave for the recipient.
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createContentEngine } from '../../../../src/delivery/content/templates/engine.ts';
import type { ContentEngine } from '../../../../src/delivery/content/templates/content.ts';
import { createSharedValues } from '../../../../src/delivery/sender/compose/shared-values.ts';
import { createVersionReader } from '../../../../src/delivery/content/templates/versions.ts';
import { createSmtpProvider } from '../../../../src/delivery/wire/providers/smtp/hand-over.ts';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import { createEmailChannel } from '../../../../src/delivery/sender/email/hand-over.ts';
import { createBrandOf, brandValues } from '../../../../src/features/templates/brand-parts.ts';
import { createRecipientPages, unsubscribeLinks } from '../../../../src/features/unsubscribe/service.ts';
import { startTestApi, type TestApi } from '../../../support/api.ts';
import { writeCampaign } from '../../../support/campaigns.ts';
import { eventually } from '../../../support/eventually.ts';
import { send, testFlowSender, writeContact, writeFlow, writeRun } from '../../../support/flow-sends.ts';
import {
  emailSettings,
  startSmtpServer,
  startTestSender,
  type TestSender,
  type TestSmtpServer,
} from '../../../support/sending.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const OF_CAMPAIGN = 900;
const OF_FLOW = 300;
/** Number of requests of each way, for recipients of the campaign and as many of the flow. */
const REQUESTS = 40;
/**
 * Requests choose among this many recipients that the senders reach next, so that intents of the recipient are likely.
 */
const NEXT = 30;
/** Number of mails that the server takes per answered request, so that senders never run ahead of the requests. */
const MAILS_PER_REQUEST = 3;

const kinds = ['campaign', 'flow'] as const;
type Kind = (typeof kinds)[number];

interface Recipient {
  messageId: number;
  contactId: number;
  address: string;
}

let api: TestApi;
let engine: ContentEngine;
let server: TestSmtpServer;
let senders: TestSender[] = [];
/** How many mails of each kind the server takes until more requests are answered, and has taken. */
const allowed = { campaign: 20, flow: 20 };
const taken = { campaign: 0, flow: 0 };
const allowAll = () => kinds.forEach((kind) => (allowed[kind] = Infinity));

beforeEach(async () => {
  api = await startTestApi({
    env: { RATE_LIMIT_PER_KEY: '100000', TRUSTED_PROXIES: '127.0.0.0/8', DATABASE_POOL: '12' },
  });
  engine = createContentEngine({ threads: 1 });
  server = await startSmtpServer({
    onRcptTo({ address }, _session, done) {
      const kind = address.startsWith('campaign') ? 'campaign' : 'flow';
      const wait = () => {
        if (taken[kind] >= allowed[kind]) return void setTimeout(wait, 2);
        taken[kind] += 1;
        done();
      };
      wait();
    },
  });
});
afterEach(async () => {
  allowAll();
  await Promise.all(senders.map((sender) => sender.stop()));
  senders = [];
  await server.stop();
  await engine.close();
  await api.close();
});

const query = async <Row extends object>(sql: string, ...values: unknown[]) =>
  (await api.database.pool.query<Row>(sql, values)).rows;

async function startSenders(): Promise<void> {
  const { pool, url } = { pool: api.database.pool, url: api.config.DATABASE_URL ?? '' };
  for (let n = 0; n < 2; n += 1) {
    const target = {
      host: '127.0.0.1',
      port: server.port,
      security: 'none',
      clientName: 'mail.test',
    } as const;
    const brandOf = createBrandOf(pool, testKeyring, api.baseUrl);
    const contents = {
      versions: createVersionReader(pool),
      shared: createSharedValues(pool, async (scope) => brandValues(await brandOf(scope))),
      engine,
      pages: createRecipientPages(testKeyring, api.baseUrl),
    };
    const provider = createSmtpProvider({ target, connections: 4 });
    const channel = createEmailChannel(provider, { ...emailSettings(), contents });
    senders.push(await startTestSender({ url, port: server.port, channel }));
  }
}

/** Makes every intent take some time between its check and its commit, so that many requests fall into it. */
const slowIntents = () =>
  query(
    `create function slow_intent() returns trigger language plpgsql as $$
     begin perform pg_sleep(0.1); return new; end $$;
     create trigger slow_intent before insert on handovers for each row execute function slow_intent()`,
  );

async function writeMessages(): Promise<void> {
  const { database } = api;
  await query(`update accounts set tier = 'trusted' where id = $1`, api.accountId);
  await writeCampaign(database, api, { recipients: OF_CAMPAIGN, blockSize: 100, prefix: 'campaign' });
  const { flowId, steps } = await writeFlow(database, api);
  const sender = testFlowSender();
  for (let n = 0; n < OF_FLOW; n += 1) {
    const contactId = await writeContact(database, api, { email: `flow${n}@example.com` });
    await send(database, sender, await writeRun(database, api, flowId, contactId), steps[0]);
  }
}

/** A recipient who will soon be sent to and is not in any request yet. */
async function nextRecipient(kind: Kind, named: Set<number>): Promise<Recipient | undefined> {
  const rows = await query<Recipient>(
    `select m.id as "messageId", m.contact_id as "contactId", m.to_key as address from messages m
     where m.account_id = $1 and m.class = $2 and m.status = 'queued' and m.id <> all($3)
       and not exists (select 1 from handovers h where m.id = any(h.message_ids))
     order by m.id limit ${NEXT}`,
    api.accountId,
    messageClasses[kind],
    [...named],
  );
  const left = rows.filter(({ messageId }) => !named.has(messageId));
  const next = left[Math.floor(Math.random() * left.length)];
  if (next) named.add(next.messageId);
  return next;
}

let network = 0;

/** The three ways, with the status of their response. */
const ways: ((recipient: Recipient) => Promise<number>)[] = [
  async function oneClick({ messageId, address }) {
    const { accountId, brandId } = api;
    const recipient = { accountId, brandId, source: { messageId }, address };
    const url = unsubscribeLinks(testKeyring, api.baseUrl, recipient)?.url ?? '';
    // A network may send fifty requests a second.
    network += 1;
    const headers = { 'X-Forwarded-For': `10.1.${network >> 8}.${network & 255}` };
    return (await fetch(url, { method: 'POST', headers })).status;
  },
  async function suppress({ address }) {
    const body = { email: address };
    return (await api.request('POST', '/v1/my/suppressions', { body })).status;
  },
  async function optOut({ contactId }) {
    const body = { channels_attributes: [{ id: 2 * contactId, subscribed: false }] };
    return (await api.request('PATCH', `/v1/my/contacts/${contactId}`, { body })).status;
  },
];

/** Whether the database shows that the message was sent or is about to be. */
async function mayStillLeave(messageId: number): Promise<boolean> {
  const [row] = await query<{ may: boolean }>(
    `select m.status not in ('queued', 'held') or exists (
       select 1 from handovers h where m.id = any(h.message_ids)) as may from messages m where m.id = $1`,
    messageId,
  );
  return row?.may ?? true;
}

/** @returns the recipients to whom nothing may be sent any more */
async function endSome(kind: Kind, way: (typeof ways)[number], named: Set<number>): Promise<string[]> {
  const ended: string[] = [];
  for (let n = 0; n < REQUESTS; n += 1) {
    const recipient = await nextRecipient(kind, named);
    if (!recipient) break;
    const status = await way(recipient);
    if (status !== 200 && status !== 201) throw new Error(`${way.name}: ${status}`);
    if (!(await mayStillLeave(recipient.messageId))) ended.push(recipient.address);
    allowed[kind] += MAILS_PER_REQUEST;
  }
  return ended;
}

it('lets only messages intended before it leave after a 2xx, from a campaign or a flow', async () => {
  await writeMessages();
  await slowIntents();
  await startSenders();
  const named = new Set<number>();
  const ended = await Promise.all(
    kinds.flatMap((kind) =>
      ways.map(async (way) => ({ kind, way: way.name, addresses: await endSome(kind, way, named) })),
    ),
  );
  allowAll();
  await eventually(async () => {
    const open = await query(
      `select status, count(*) from messages where account_id = $1 and status in ('queued', 'held') group by status`,
      api.accountId,
    );
    expect(open).toEqual([]);
  });
  const received = new Set(server.received.map(({ to }) => to));
  for (const { addresses, ...of } of ended) {
    expect({ ...of, received: addresses.filter((address) => received.has(address)) }).toEqual({
      ...of,
      received: [],
    });
    expect(addresses.length).toBeGreaterThan(2);
  }
}, 180_000);
