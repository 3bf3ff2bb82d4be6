// The sender of a mail is trusted only if SPF or DKIM passes for the domain in From, whatever its headers and DNS say.
import { generateKeyPairSync } from 'node:crypto';
import { dkimSign, sealMessage } from 'mailauth';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { AcceptedMail, ReadMail } from '../../../../src/features/inbox/mail/mail.ts';
import { startDnsServer, type TestDnsServer } from '../../../support/dns/server.ts';
import { startMailReader, type TestMailReader } from '../../../support/mail-reader.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2_048,
  publicKeyEncoding: { type: 'spki', format: 'der' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const keyRecord = `v=DKIM1; k=rsa; p=${publicKey.toString('base64')}`;

const ip = '192.0.2.10';
const session = { envelopeFrom: 'ada@example.com', ip, helo: 'mail.example.com' };

let dns: TestDnsServer;
let reader: TestMailReader;

beforeAll(async () => {
  dns = await startDnsServer();
});
afterAll(() => dns.close());
beforeEach(async () => {
  dns.zone = {};
  dns.questions = [];
  reader = await startMailReader({ dnsServers: [dns.address] });
});
afterEach(() => reader.close());

function mailFrom(from: string, extra = ''): string {
  return `${extra}From: ${from}\nTo: support@inbox.example.org\nSubject: Hello\nMessage-ID: <1@example.com>\nDate: Tue, 10 Mar 2026 10:00:00 +0000\n\nHello, this is a mail.\n`;
}

async function signed(raw: string, signingDomain: string, details: object = {}): Promise<Buffer> {
  const message = raw.replace(/\n/g, '\r\n');
  const key = { signingDomain, selector: 's1', privateKey };
  const signatureData = [{ ...key, ...details }];
  const { signatures } = await dkimSign(message, {
    canonicalization: 'relaxed/relaxed',
    ...key,
    signatureData,
  });
  return Buffer.from(signatures + message);
}

function read(raw: Buffer | string, changes: Partial<AcceptedMail> = {}): Promise<ReadMail> {
  return reader.read(raw, { ...session, ...changes });
}

describe('SPF', () => {
  it('is enough for trust if it passes for the domain in From, without any DMARC record', async () => {
    dns.zone['example.com'] = { TXT: ['v=spf1 ip4:192.0.2.0/28 -all'] };
    const { authentication, suspicion } = await read(mailFrom('Ada <ada@example.com>'));
    expect(authentication).toMatchObject({
      spf: { result: 'pass', domain: 'example.com' },
      dkim: { result: 'none', domain: null },
      dmarc: { result: 'none', policy: null },
      aligned: true,
    });
    expect(suspicion).toBeNull();
  });

  it('follows includes of domains that were never asked about', async () => {
    dns.zone['example.com'] = { TXT: ['v=spf1 include:a.example.net -all'] };
    dns.zone['a.example.net'] = { TXT: ['v=spf1 include:b.example.net ~all'] };
    dns.zone['b.example.net'] = { TXT: ['v=spf1 mx:c.example.net ~all'] };
    dns.zone['c.example.net'] = { MX: [{ exchange: 'mx.example.net', preference: 1 }] };
    dns.zone['mx.example.net'] = { A: [ip] };
    const { authentication } = await read(mailFrom('ada@example.com'));
    expect(authentication).toMatchObject({ spf: { result: 'pass' }, aligned: true });
  });

  it('says nothing about another domain in From', async () => {
    dns.zone['example.com'] = { TXT: [`v=spf1 ip4:${ip} -all`] };
    const { authentication } = await read(mailFrom('ceo@bank.example'));
    expect(authentication).toMatchObject({ spf: { result: 'pass', domain: 'example.com' }, aligned: false });
  });

  it('does not align two names below a public suffix', async () => {
    dns.zone['mallory.github.io'] = { TXT: [`v=spf1 ip4:${ip} -all`] };
    const { authentication } = await read(mailFrom('ada@ada.github.io'), {
      envelopeFrom: 'x@mallory.github.io',
    });
    expect(authentication).toMatchObject({ spf: { result: 'pass' }, aligned: false });
  });

  it('is none if the address of the client is unknown', async () => {
    dns.zone['example.com'] = { TXT: [`v=spf1 +all`] };
    const { authentication } = await read(mailFrom('ada@example.com'), { ip: null });
    expect(authentication).toMatchObject({ spf: { result: 'none', domain: null }, aligned: false });
  });

  it('ignores what the Received and Return-Path fields claim', async () => {
    dns.zone['example.com'] = { TXT: ['v=spf1 ip4:203.0.113.1 -all'] };
    const claims =
      'Return-Path: <ada@example.com>\nReceived: from mail.example.com (mail.example.com [203.0.113.1]) by mx.example.net; Tue, 10 Mar 2026 10:00:00 +0000\n';
    const { authentication } = await read(mailFrom('ada@example.com', claims), {
      envelopeFrom: 'x@mallory.example',
    });
    expect(authentication).toMatchObject({ spf: { result: 'none' }, aligned: false });
  });
});

it('shows the domains that a mail names on one short line without invisible characters', async () => {
  const signature = (domain: string) =>
    `DKIM-Signature: v=1; a=rsa-sha256; d=${domain}; s=s1; h=from; bh=aaaa; b=aaaa\n`;
  const domains: (string | null)[] = [];
  for (const domain of ['exa\0mple.com', `${'x'.repeat(5_000)}.com`]) {
    const helo = { envelopeFrom: '', helo: domain };
    const { authentication } = await read(mailFrom('ada@example.com', signature(domain)), helo);
    domains.push(authentication.dkim.domain, authentication.spf.domain);
  }
  const long = 'x'.repeat(255);
  expect(domains).toEqual(['exa\ufffdmple.com', 'exa\ufffdmple.com', long, long]);
});

describe('DKIM', () => {
  it('is enough for trust if it passes for the organization of the domain in From', async () => {
    dns.zone['s1._domainkey.mail.example.com'] = { TXT: [keyRecord] };
    const raw = await signed(mailFrom('ada@news.example.com'), 'mail.example.com');
    const { authentication } = await read(raw, { envelopeFrom: 'bounces@provider.example' });
    expect(authentication).toMatchObject({
      dkim: { result: 'pass', domain: 'mail.example.com' },
      aligned: true,
    });
  });

  it('reports the signature that counts, not the first', async () => {
    dns.zone['s1._domainkey.example.com'] = { TXT: [keyRecord] };
    dns.zone['s1._domainkey.provider.example'] = { TXT: [keyRecord] };
    const inner = await signed(mailFrom('ada@example.com'), 'example.com');
    const raw = await signed(inner.toString().replace(/\r\n/g, '\n'), 'provider.example');
    const { authentication } = await read(raw, { ip: null });
    expect(authentication).toMatchObject({ dkim: { result: 'pass', domain: 'example.com' }, aligned: true });
  });

  it('does not pass for a changed body', async () => {
    dns.zone['s1._domainkey.example.com'] = { TXT: [keyRecord] };
    const raw = (await signed(mailFrom('ada@example.com'), 'example.com'))
      .toString()
      .replace('a mail', 'a fraud');
    const { authentication } = await read(Buffer.from(raw), { ip: null });
    expect(authentication).toMatchObject({ dkim: { domain: 'example.com' }, aligned: false });
    expect(authentication.dkim.result).not.toBe('pass');
  });

  it('does not count a signature that leaves the end of the body open', async () => {
    dns.zone['s1._domainkey.example.com'] = { TXT: [keyRecord] };
    const raw = await signed(mailFrom('ada@example.com'), 'example.com', { maxBodyLength: 10 });
    const { authentication } = await read(raw, { ip: null });
    expect(authentication).toMatchObject({
      dkim: { result: 'policy', domain: 'example.com' },
      aligned: false,
    });
  });

  it('says nothing about a mail with several authors', async () => {
    dns.zone['s1._domainkey.example.com'] = { TXT: [keyRecord] };
    const raw = await signed(mailFrom('ada@example.com'), 'example.com');
    const double = await read(Buffer.concat([Buffer.from('From: ceo@example.com\r\n'), raw]), { ip: null });
    expect(double).toMatchObject({ senderKey: null, authentication: { aligned: false } });
    const list = await read(await signed(mailFrom('ada@example.com, bob@example.com'), 'example.com'), {
      ip: null,
    });
    expect(list).toMatchObject({ senderKey: null, authentication: { aligned: false } });
  });

  it('quarantines a mail with more than ten signatures, without a question', async () => {
    const signature = 'DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=s1; h=from; bh=eA==; b=eA==\n';
    const mail = await read(mailFrom('ada@example.com', signature.repeat(11)));
    expect(mail.suspicion).toEqual({ reason: 'spam', detail: 'more than 10 signatures' });
    expect(mail.authentication.dkim.result).toBe('none');
    expect(dns.questions).toEqual([]);
  });
});

describe('DMARC', () => {
  it.each(['reject', 'quarantine'])('makes a forged mail spam if the policy is %s', async (policy) => {
    dns.zone['_dmarc.example.com'] = { TXT: [`v=DMARC1; p=${policy}`] };
    const mail = await read(mailFrom('ada@sub.example.com'), { envelopeFrom: 'x@mallory.example' });
    expect(mail.authentication.dmarc).toEqual({ result: 'fail', domain: 'example.com', policy });
    expect(mail.suspicion?.reason).toBe('spam');
    expect(mail.suspicion?.detail).toContain(policy);
  });

  it('lets a forged mail through, untrusted, if the policy is none', async () => {
    dns.zone['_dmarc.example.com'] = { TXT: ['v=DMARC1; p=none'] };
    const mail = await read(mailFrom('ada@example.com'), { envelopeFrom: 'x@mallory.example' });
    expect(mail).toMatchObject({
      suspicion: null,
      authentication: { dmarc: { result: 'fail' }, aligned: false },
    });
  });

  it('does not trust a relaxed alignment if the record asks for a strict one', async () => {
    dns.zone['_dmarc.example.com'] = { TXT: ['v=DMARC1; p=none; aspf=s'] };
    dns.zone['mail.example.com'] = { TXT: [`v=spf1 ip4:${ip} -all`] };
    const { authentication } = await read(mailFrom('ada@example.com'), {
      envelopeFrom: 'a@mail.example.com',
    });
    expect(authentication).toMatchObject({
      spf: { result: 'pass' },
      dmarc: { result: 'fail' },
      aligned: false,
    });
  });
});

describe('ARC', () => {
  it('reports a chain that is intact', async () => {
    dns.zone['s1._domainkey.list.example'] = { TXT: [keyRecord] };
    const message = mailFrom('ada@example.com').replace(/\n/g, '\r\n');
    const seal = await sealMessage(Buffer.from(message), {
      signingDomain: 'list.example',
      selector: 's1',
      privateKey,
      authResults: 'mx.list.example; spf=pass',
      cv: 'none',
    });
    const { authentication } = await read(Buffer.concat([seal, Buffer.from(message)]), { ip: null });
    expect(authentication).toMatchObject({ arc: { result: 'pass', domain: 'list.example' }, aligned: false });
  });
});

describe('name servers', () => {
  it('are not asked again about a sender who wrote a moment ago', async () => {
    dns.zone['example.com'] = { TXT: [`v=spf1 ip4:${ip} -all`] };
    dns.zone['s1._domainkey.example.com'] = { TXT: [keyRecord] };
    const raw = await signed(mailFrom('ada@example.com'), 'example.com');
    await read(raw);
    expect(dns.questions.filter((question) => question === 'TXT example.com')).toHaveLength(1);
    dns.questions = [];
    expect((await read(raw)).authentication).toMatchObject({
      spf: { result: 'pass' },
      dkim: { result: 'pass' },
    });
    expect(dns.questions).toEqual([]);
  });

  it('that fail make results temporary errors, and the mail is read', async () => {
    dns.zone['example.com'] = 'servfail';
    dns.zone['_dmarc.example.com'] = 'servfail';
    dns.zone['s1._domainkey.example.com'] = 'servfail';
    const mail = await read(await signed(mailFrom('ada@example.com'), 'example.com'));
    expect(mail).toMatchObject({
      text: 'Hello, this is a mail.\n',
      suspicion: null,
      authentication: {
        spf: { result: 'temperror' },
        dkim: { result: 'temperror' },
        dmarc: { result: 'temperror' },
        aligned: false,
      },
    });
  });

  it('that do not answer do not hold up the mail of others', async () => {
    await reader.close();
    reader = await startMailReader({ dnsServers: [dns.address], threads: 1, lookUpMs: 500 });
    dns.zone['slow.example'] = 'silent';
    dns.zone['example.com'] = { TXT: [`v=spf1 ip4:${ip} -all`] };
    const order: string[] = [];
    const slow = Array.from({ length: 5 }, () =>
      read(mailFrom('ada@slow.example'), { envelopeFrom: 'ada@slow.example' }).then((mail) => {
        order.push('slow');
        return mail;
      }),
    );
    const quick = read(mailFrom('ada@example.com')).then(() => order.push('quick'));
    const [first] = await Promise.all(slow);
    await quick;
    expect(order[0]).toBe('quick');
    expect(first?.authentication.spf.result).toBe('temperror');
  });
});
