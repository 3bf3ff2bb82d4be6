// A forged, altered or random provider callback is never accepted and never crashes the API.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { providerKinds } from '../../../src/delivery/wire/providers/index.ts';
import type { NamedProvider } from '../../../src/delivery/wire/providers/named.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { mutatedBytes, mutatedJson } from '../../support/callback-fuzz.ts';
import { testReference } from '../../support/callbacks.ts';
import { hostileTexts } from '../../support/hostile-texts.ts';
import { queueEmails } from '../../support/queued.ts';
import {
  addTestProvider,
  mailgunCallback,
  sendgridCallback,
  signAsMailgun,
  signAsSendgrid,
  type SignedCallback,
} from '../../support/signed-callbacks.ts';

const MESSAGES = 20;
const COPIES = 60;

let api: TestApi;
let sendgrid: NamedProvider;
let mailgun: NamedProvider;
/** The state of all messages and addresses, to compare before and after. */
let before: unknown;
let reference: string;
let tokens = 0;

beforeAll(async () => {
  api = await startTestApi({ env: { TRUSTED_PROXIES: '127.0.0.1' } });
  sendgrid = await addTestProvider(api.database.pool, 'grid', 'sendgrid');
  mailgun = await addTestProvider(api.database.pool, 'gun', 'mailgun');
  const ids = await queueEmails(api.database, api, MESSAGES);
  await api.database.pool.query(
    `update messages set status = 'sent', provider = 'grid', sent_at = now(), sent_attempt = 1`,
  );
  before = await state();
  // Genuine except for the last character of its MAC, so that callbacks about it must have no effect.
  const genuine = testReference(api.accountId, ids[0] ?? 0);
  reference = `${genuine.slice(0, -1)}${genuine.endsWith('A') ? 'Q' : 'A'}`;
});
afterAll(() => api.close());

async function state() {
  const { rows } = await api.database.pool.query(
    `select (select json_agg(m order by id) from messages m) as messages, (select count(*) from message_events) as events,
       (select count(*) from suppressions) as suppressions, (select count(*) from opt_outs) as opt_outs,
       (select count(*) from send_queue) as queued`,
  );
  return rows;
}

/** Sends callbacks, each from a separate address. @returns the distinct statuses */
async function statuses(
  path: string,
  callbacks: readonly (Partial<SignedCallback> | { body: Buffer })[],
  method = 'POST',
) {
  const seen = new Set<number>();
  for (const [n, callback] of callbacks.entries()) {
    const headers = {
      'x-forwarded-for': `192.0.2.${n % 250}`,
      ...('headers' in callback ? callback.headers : {}),
    };
    const body = callback.body === undefined ? {} : { body: callback.body as string };
    seen.add((await fetch(`${api.baseUrl}${path}`, { method, headers, ...body })).status);
  }
  return [...seen].sort();
}

const pathOf = ({ kind, callbackToken }: NamedProvider) => `/callbacks/${kind.name}/${callbackToken}`;
const digest = (n: number) => createHash('sha256').update(String(n)).digest('base64url');
const nextToken = () => digest((tokens += 1)).padEnd(50, 'x');

const event = (type: string) => ({
  event: type,
  timestamp: 1_700_000_000,
  carillon_reference: reference,
  status: '5.1.1',
  reason: '550 5.1.1 unknown',
  response: '250 ok',
  type: 'bounce',
  sg_message_id: 'abc.recvd-1',
});

describe('a callback with random content', () => {
  it('is accepted or refused, but changes nothing, if it is signed', async () => {
    const events = ['bounce', 'delivered', 'spamreport', 'dropped', 'deferred', 'processed'].map(event);
    const grid = mutatedJson(events, COPIES).map(signAsSendgrid);
    expect(await statuses(pathOf(sendgrid), grid)).toEqual([200, 403]);
    const data = { ...event('failed'), severity: 'permanent', 'user-variables': { carillon: reference } };
    const gun = mutatedJson(data, COPIES).map((each) => signAsMailgun(nextToken(), each));
    for (const status of await statuses(pathOf(mailgun), gun)) expect([200, 403]).toContain(status);
    expect(await state()).toEqual(before);
  });

  it('is refused if it was changed after it was signed', async () => {
    const genuine = sendgridCallback([{ event: 'bounce', reference }]);
    const changed = mutatedBytes(Buffer.from(genuine.body), COPIES).filter(
      (body) => !body.equals(Buffer.from(genuine.body)),
    );
    const callbacks = changed.map((body) => ({ headers: genuine.headers, body }));
    expect(await statuses(pathOf(sendgrid), callbacks)).toEqual([403]);
    const gun = mailgunCallback(nextToken(), 'failed', reference);
    const bytes = mutatedBytes(Buffer.from(gun.body), COPIES).map((body) => ({ headers: gun.headers, body }));
    for (const status of await statuses(pathOf(mailgun), bytes)) expect([200, 403]).toContain(status);
    expect(await state()).toEqual(before);
  });

  it('is refused if it is not signed, in linear time', async () => {
    const texts = Object.values(hostileTexts).map((make) => ({ body: make(50_000) }));
    for (const provider of [sendgrid, mailgun]) {
      expect([provider.name, await statuses(pathOf(provider), texts)]).toEqual([provider.name, [403]]);
      expect(await statuses(`${pathOf(provider)}?${'a=%ff&'.repeat(500)}`, [{}], 'GET')).toEqual([403]);
    }
    expect(await state()).toEqual(before);
  });

  it('is refused if its headers are odd', async () => {
    const { body, headers } = sendgridCallback([{ event: 'bounce', reference }]);
    const odd = Object.keys(headers).flatMap((name) =>
      ['', ' ', '0', '-1', '9'.repeat(400), 'x'.repeat(4_000), '\u00ff', '=?', '1, 2'].map((value) => ({
        body,
        headers: { ...headers, [name]: value },
      })),
    );
    for (const status of await statuses(pathOf(sendgrid), odd)) expect([200, 403]).toContain(status);
    expect(await state()).toEqual(before);
  });
});

it('finds no provider by random kinds and tokens', async () => {
  const kinds = [
    ...providerKinds.map(({ name }) => name),
    '%ff',
    '%00',
    '..%2f',
    'x'.repeat(1_000),
    '__proto__',
    'constructor',
  ];
  const wrong = [
    digest(0),
    `${sendgrid.callbackToken.slice(0, -1)}%20`,
    '%00',
    '%ff',
    '..',
    '0',
    'x'.repeat(3_000),
    "'--",
  ];
  let n = 0;
  for (const kind of kinds) {
    for (const token of wrong) {
      n += 1;
      const answer = await fetch(`${api.baseUrl}/callbacks/${kind}/${token}`, {
        method: 'POST',
        headers: { 'x-forwarded-for': `198.51.100.${n % 250}` },
        body: '{}',
      });
      expect([kind, token, answer.status]).toEqual([kind, token, 404]);
    }
  }
});
