// A provider callback settles a message once, even if it arrives before the response to the sender.
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { NamedProvider } from '../../../src/delivery/wire/providers/named.ts';
import { createEmailChannel } from '../../../src/delivery/sender/email/hand-over.ts';
import { sendgrid } from '../../../src/delivery/wire/providers/sendgrid/provider.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { startTestApi, TEST_SECRET, type TestApi } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';
import { type ProviderApi, startProviderApi } from '../../support/provider-api.ts';
import { queueEmails } from '../../support/queued.ts';
import { startTestSender, type TestSender } from '../../support/sending.ts';
import { addTestProvider, callbackSettings, sendgridCallback } from '../../support/signed-callbacks.ts';
import { addWebhook } from '../../support/webhooks.ts';

let api: TestApi;
let service: ProviderApi;
let provider: NamedProvider;
let sender: TestSender;
/** The responses that the service has not sent yet. */
let waiting: ServerResponse[];

beforeAll(async () => {
  [api, service] = await Promise.all([startTestApi(), startProviderApi()]);
  // The name is that of the sender's provider.
  provider = await addTestProvider(api.database.pool, 'sendgrid', 'sendgrid');
  await addWebhook(api.database, api, 'https://hooks.example.test', ['email.sent', 'email.delivered']);
});
afterAll(async () => {
  await service.close();
  await api.close();
});

beforeEach(async () => {
  waiting = [];
  service.requests = [];
  service.answer = (_request, response) => void waiting.push(response);
  const settings = sendgrid.settings.parse({ ...callbackSettings.sendgrid, base_url: service.baseUrl });
  const channel = createEmailChannel(
    sendgrid.create(settings, { ...service.deps, callbackUrl: null, id: 1 }),
    {
      mailDomain: 'mail.test',
      returnPathKey: Buffer.alloc(32, 1),
      referenceKey: createKeyring(TEST_SECRET).subkey('reference').key,
      signersFor: () => [],
    },
  );
  sender = await startTestSender({ url: api.database.url, port: 0, channel });
});
afterEach(async () => {
  for (const response of waiting) response.destroy();
  await sender.stop();
  await api.database.pool.query('truncate messages, message_events, send_queue, handovers, events cascade');
});

const query = <Row extends object>(text: string) =>
  api.database.pool.query<Row>(text).then((result) => result.rows);

/** Waits until the service has the message, and returns the reference that it stores. */
async function handedOver(): Promise<string> {
  await queueEmails(api.database, api, 1);
  await eventually(() => expect(waiting.length).toBeGreaterThan(0));
  const { personalizations, custom_args: args } = JSON.parse(service.requests[0]?.body ?? '') as {
    personalizations: { custom_args?: Record<string, string> }[];
    custom_args?: Record<string, string>;
  };
  return (args ?? personalizations[0]?.custom_args)?.carillon_reference ?? '';
}

async function callBack(reference: string): Promise<void> {
  const { body, headers } = sendgridCallback([
    { event: 'processed', reference },
    { event: 'delivered', reference },
  ]);
  const path = `/callbacks/sendgrid/${provider.callbackToken}`;
  expect((await fetch(`${api.baseUrl}${path}`, { method: 'POST', body, headers })).status).toBe(200);
}

/** The service accepted the request, but its response is lost. */
const loseResponse = () => waiting[0]?.destroy();

const recorded = () => eventually(async () => expect(await query('select 1 from handovers')).toEqual([]));

const settled = async () => ({
  messages: await query('select status, provider, sent_at is not null as sent from messages'),
  queue: await query('select 1 from send_queue'),
  events: (await query<{ type: string }>('select type from events order by type')).map(({ type }) => type),
});

const delivered = {
  messages: [{ status: 'delivered', provider: 'sendgrid', sent: true }],
  queue: [],
  events: ['email.delivered', 'email.sent'],
};

it('settles a message of unknown outcome by its callback', async () => {
  const reference = await handedOver();
  loseResponse();
  await eventually(async () =>
    expect(await query('select status from messages')).toEqual([{ status: 'unknown' }]),
  );
  await callBack(reference);
  await recorded();
  expect(await settled()).toEqual(delivered);
});

it('settles a message by its callback while the sender still waits, and does not send it again', async () => {
  const reference = await handedOver();
  await callBack(reference);
  expect(await settled()).toEqual(delivered);
  loseResponse();
  await recorded();
  expect(await settled()).toEqual(delivered);
  expect(service.requests).toHaveLength(1);
});

it('publishes email.sent once if the service responds after its callback', async () => {
  const reference = await handedOver();
  await callBack(reference);
  waiting[0]?.writeHead(202, { 'x-message-id': 'abc' }).end();
  await recorded();
  expect(await settled()).toEqual(delivered);
});

it('settles a message whose response and callback arrive together', async () => {
  const reference = await handedOver();
  const calling = callBack(reference);
  loseResponse();
  await calling;
  await recorded();
  expect(await settled()).toEqual(delivered);
});
