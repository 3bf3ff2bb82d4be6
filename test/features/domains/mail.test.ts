// Mail leaves only from a verified domain, with aligned DKIM and SPF, and waits while the domain is lost.
import { Resolver as DnsClient } from 'node:dns/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { authenticate } from 'mailauth';
import { createSendingDomains } from '../../../src/delivery/content/dkim/domain-signers.ts';
import { findRecipient } from '../../../src/delivery/wire/inbound/recipients.ts';
import type { DomainWatch } from '../../../src/features/domains/watch.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { startDnsServer, type TestDnsServer, type TestRecords } from '../../support/dns/server.ts';
import { createTestWatch } from '../../support/domains.ts';
import { eventually } from '../../support/eventually.ts';
import {
  receivedAtLeast,
  startSmtpServer,
  startTestSender,
  type TestSender,
  TEST_RETURN_PATH_KEY,
  type TestSmtpServer,
} from '../../support/sending.ts';
import { testKeyring } from '../../support/webhooks.ts';

/** The address of the relay, which MAIL_DOMAIN's SPF record names. */
const RELAY = '192.0.2.7';

interface DnsRecord {
  record_type: 'TXT' | 'MX' | 'CNAME';
  name: string;
  value: string;
  required: string;
}

let api: TestApi;
let dns: TestDnsServer;
let server: TestSmtpServer;
let sender: TestSender;
let watch: DomainWatch;
let domainId: number;
let records: DnsRecord[];

/** Publishes records in the form in which a client reads them from the API. */
function publish(wanted: DnsRecord[]): void {
  for (const { record_type: type, name, value } of wanted) {
    const entry: TestRecords = { ...(dns.zone[name] as TestRecords | undefined) };
    if (type === 'TXT') entry.TXT = [value];
    if (type === 'MX') entry.MX = [{ exchange: value, preference: 10 }];
    if (type === 'CNAME') entry.CNAME = value;
    dns.zone[name] = entry;
  }
}

const check = () => watch.check(domainId, new Date(), true);

const send = (further: object = {}) =>
  api.request('POST', '/v1/my/messages', {
    body: {
      channel: 'email',
      to: 'ada@recipient.example',
      from: 'Acme News <news@acme.example>',
      subject: 'Grüße aus Köln',
      html: '<p>Hello</p>',
      ...further,
    },
  });

/** Judges a mail like a receiver does. */
function judge(raw: string, from: string) {
  const client = new DnsClient();
  client.setServers([dns.address]);
  return authenticate(Buffer.from(raw), {
    ip: RELAY,
    helo: 'mail.test',
    mta: 'mx.recipient.example',
    sender: from,
    resolver: (name: string, type: string) => client.resolve(name, type) as Promise<string[]>,
    disableArc: true,
    disableBimi: true,
  });
}

const pause = (paused: boolean) =>
  api.database.pool.query(
    'update accounts set sending_paused_at = case when $2 then now() end where id = $1',
    [api.accountId, paused],
  );

const makeDue = (id: unknown) =>
  api.database.pool.query('update send_queue set due_at = now(), held = false where message_id = $1', [id]);

const statusOf = async (id: unknown) =>
  (await api.request('GET', `/v1/my/messages/${Number(id)}`)).body as unknown as {
    status: string;
    hold: { reason: string } | null;
    failure: { code: string } | null;
  };

beforeAll(async () => {
  [api, dns, server] = await Promise.all([startTestApi(), startDnsServer(), startSmtpServer()]);
  dns.zone['mail.test'] = { TXT: [`v=spf1 ip4:${RELAY} -all`] };
  const { pool } = api.database;
  watch = createTestWatch(api.database, dns, api.config);
  const { body } = await api.request('POST', '/v1/my/domains', {
    body: { domain: { name: 'acme.example' } },
  });
  domainId = Number(body.id);
  records = body.dns_records as unknown as DnsRecord[];
  publish(records);
  sender = await startTestSender({
    url: api.database.url,
    port: server.port,
    domains: createSendingDomains(pool, testKeyring),
  });
});
afterAll(async () => {
  await sender.stop();
  await server.stop();
  dns.close();
  await api.close();
});

describe('mail from a domain', () => {
  it('is refused until the domain is verified', async () => {
    expect((await send()).body.code).toBe('sender_not_verified');
    await check();
    const { body } = await api.request('GET', `/v1/my/domains/${domainId}`);
    expect([body.status, body.verified_at]).toEqual(['verified', expect.any(String)]);
    const valid = (body.dns_records as unknown as { valid: string }[]).map((each) => each.valid);
    expect(new Set(valid)).toEqual(new Set(['true']));
    const onboarding = (await api.request('GET', '/v1/my/account')).body.onboarding;
    expect(onboarding?.steps?.domain).toEqual({ completed_at: body.verified_at });
    // The API's cached senders are at most a second old.
    await eventually(async () => expect((await send({ subject: 'first' })).status).toBe(201));
  });

  it('passes DKIM with both keys, SPF and DMARC with both aligned', async () => {
    await receivedAtLeast(server, 1);
    await send();
    await receivedAtLeast(server, 2);
    for (const mail of server.received) {
      expect(mail.from).toMatch(/^b-[a-z0-9-]+@crl-bounces\.acme\.example$/);
      const { dkim, spf, dmarc } = await judge(mail.raw, mail.from);
      expect(
        dkim.results.map(({ signingDomain, selector, status }) => [signingDomain, selector, status.result]),
      ).toEqual([
        ['acme.example', `crl-${domainId}-rsa`, 'pass'],
        ['acme.example', `crl-${domainId}-ed`, 'pass'],
      ]);
      expect(spf === false ? null : [spf.domain, spf.status.result]).toEqual([
        'crl-bounces.acme.example',
        'pass',
      ]);
      expect(dmarc === false ? null : [dmarc.status.result, dmarc.domain]).toEqual(['pass', 'acme.example']);
      expect(dmarc === false ? null : dmarc.alignment).toMatchObject({
        spf: { result: 'crl-bounces.acme.example' },
        dkim: { result: 'acme.example' },
      });
    }
  });

  it('has a return path for which the service accepts bounces', () => {
    const keys = { returnPaths: [TEST_RETURN_PATH_KEY], references: [] };
    for (const mail of server.received) {
      expect(findRecipient(mail.from, 'mail.test', keys)).toMatchObject({
        kind: 'return_path',
        message: { accountId: api.accountId },
      });
    }
  });

  it('waits while the domain is lost, and leaves once it is verified again', async () => {
    const before = server.received.length;
    const { pool } = api.database;
    await pause(true);
    const { body } = await send({ subject: 'late' });
    await eventually(async () => expect((await statusOf(body.id)).status).toBe('held'));
    await pool.query(
      `update domains set status = 'failed', lost_at = now(), verified_at = null where id = $1`,
      [domainId],
    );
    await pause(false);
    await makeDue(body.id);
    await eventually(async () =>
      expect(await statusOf(body.id)).toMatchObject({
        status: 'held',
        hold: { reason: 'domain_unverified', until: null },
      }),
    );
    const checked = await check();
    expect(checked?.row).toMatchObject({ status: 'verified', release_due: true });
    const release = () => watch.release({ domainId, accountId: api.accountId });
    await inTransaction(api.database.pool, async (trx) => {
      await trx.query('select from send_queue where domain_id = $1 for update', [domainId]);
      await expect(release()).rejects.toThrow('locked');
    });
    while (!(await release()));
    await receivedAtLeast(server, before + 1);
    await eventually(async () => expect((await statusOf(body.id)).status).toBe('sent'));
    expect((await check())?.row.release_due).toBe(false);
  });

  it('is signed with the RSA key only while the other record is wrong', async () => {
    delete dns.zone[`crl-${domainId}-ed._domainkey.acme.example`];
    await check();
    const domains = createSendingDomains(api.database.pool, testKeyring);
    const found = await domains.find(domainId);
    expect(found.signers.map(({ selector }) => selector)).toEqual([`crl-${domainId}-rsa`]);
    // Cached for a minute, so the next message needs no query.
    expect(domains.find(domainId)).toBe(found);
    publish(records);
    await check();
  });

  it('fails if the domain is deleted before it is sent', async () => {
    await pause(true);
    const { body } = await send({ subject: 'too late' });
    await eventually(async () => expect((await statusOf(body.id)).status).toBe('held'));
    await api.request('DELETE', `/v1/my/domains/${domainId}`);
    await makeDue(body.id);
    await eventually(async () =>
      expect(await statusOf(body.id)).toMatchObject({
        status: 'failed',
        failure: { code: 'sender_rejected' },
      }),
    );
    const domains = createSendingDomains(api.database.pool, testKeyring);
    await expect(async () => domains.find(domainId)).rejects.toThrow('was deleted');
  });
});
