// The port for submission hands on whole mails, with their facts, and says in its replies why it refuses others.
import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SubmissionRefusal } from '../../../../src/delivery/wire/submission/port.ts';
import { AppError, invalid } from '../../../../src/errors.ts';
import { eventually } from '../../../support/eventually.ts';
import type { SmtpDialogue } from '../../../support/smtp-dialogue.ts';
import {
  mailOver,
  SHORT_MAIL,
  startTestSubmission,
  type TestSubmission,
} from '../../../support/submission.ts';
import { useSubmission } from '../../../support/use-submission.ts';

const stage = useSubmission();
const { start, loggedIn } = stage;

describe('lines of a mail', () => {
  it.each([
    ['that end with LF', `${SHORT_MAIL}one\ntwo\r\n`, '554 5.6.0 line 5 ends with LF alone'],
    ['that contain CR', `${SHORT_MAIL}one\rtwo\r\n`, '554 5.6.0 line 5 contains CR alone'],
    ['that contain NUL', `${SHORT_MAIL}one\0two\r\n`, '554 5.6.0 line 5 contains a NUL'],
    [
      'that other servers take for the end',
      `${SHORT_MAIL}\n.\r\nMAIL FROM:<evil@example.com>\r\n`,
      '554 5.6.0 line 5 ends with LF alone',
    ],
    [
      'that other servers take for the end, with LF',
      `${SHORT_MAIL}\n.\nQUIT\r\n`,
      '554 5.6.0 line 5 ends with LF alone',
    ],
    [
      'that other servers take for the end, with CR',
      `${SHORT_MAIL}\r.\rQUIT\r\n`,
      '554 5.6.0 line 5 contains CR alone',
    ],
  ])('%s are refused', async (_what, data, reply) => {
    const client = await loggedIn();
    expect(await mailOver(client, { data })).toBe(reply);
    expect(stage.submission.taken).toEqual([]);
    expect(await mailOver(client)).toMatch(/^250 /);
  });

  it('count by key in the metrics if they are refused', async () => {
    const own = await start({});
    const client = await loggedIn(own);
    await mailOver(client, { data: `${SHORT_MAIL}one\ntwo\r\n` });
    await mailOver(client);
    const figures = Object.fromEntries(
      await Promise.all(own.figures.map(async (source) => [source.name, await source.read()] as const)),
    );
    expect(figures).toEqual({
      carillon_submission_replies: [
        { labels: { to: 'login', reply: '235' }, value: 1 },
        { labels: { to: 'mail', reply: '554' }, value: 1 },
        { labels: { to: 'mail', reply: '250' }, value: 1 },
      ],
      carillon_submission_bad_lines: [{ labels: { key: String(stage.tenant.apiKeyId) }, value: 1 }],
    });
  });
});

describe('the bytes of a mail', () => {
  it('arrive without the dots that the client added, with their facts', async () => {
    const client = await loggedIn();
    const long = 'x'.repeat(999);
    const data = `Subject: \u00fcber\r\n\r\n.one\r\n${long}\r\n`;
    const stuffed = data.replace(/^\./gm, '..');
    client.socket.write('MAIL FROM:<ann@example.com> SMTPUTF8 BODY=8BITMIME\r\n');
    await client.reply();
    await client.say('RCPT TO:<bob@example.net>');
    await client.say('DATA');
    expect(await client.say(`${stuffed}.`)).toMatch(/^250 /);
    const content = Buffer.from(data).toString('latin1');
    const facts = { size: content.length, eightBit: true, longLine: 4 };
    expect(stage.submission.taken).toMatchObject([
      { content, facts, smtpUtf8: true, from: 'ann@example.com' },
    ]);
  });

  it('have the same digest whatever servers they passed', async () => {
    const client = await loggedIn();
    const traced = (trace: string) => `${trace}${SHORT_MAIL}`;
    const received = 'Received: from a.example by b.example;\r\n\tFri, 1 Jan 2027 10:00:00 +0000\r\n';
    for (const data of [
      SHORT_MAIL,
      traced(received),
      traced(
        `Return-Path: <a@example.com>\r\nDELIVERED-TO: b@example.net\r\nX-Original-To: b@example.net\r\n${received}`,
      ),
      traced('X-Other: field\r\n'),
      `${SHORT_MAIL}Received: in the body\r\n`,
    ])
      expect(await mailOver(client, { data })).toMatch(/^250 /);
    const [plain, ...others] = stage.submission.taken.map(({ digest }) => digest);
    expect(others.map((digest) => digest === plain)).toEqual([true, true, false, false]);
  });

  it('are in memory if they are few, and otherwise in the storage until the mail is accepted or refused', async () => {
    const refused = new Set<number>();
    const own = await start({
      async submit({ mail }) {
        if (refused.has(mail.size)) throw invalid({ subject: ['is bad'] });
        return { reply: '2.0.0 queued' };
      },
    });
    const client = await loggedIn(own);
    const mailOf = (bytes: number) => `${SHORT_MAIL}${`${'x'.repeat(70)}\r\n`.repeat(bytes / 72)}`;
    for (const size of [60_000, 72_000]) await mailOver(client, { data: mailOf(size) });
    expect(own.taken.map(({ inMemory, content }) => [inMemory, content])).toEqual([
      [true, mailOf(60_000 - (60_000 % 72))],
      [false, mailOf(72_000)],
    ]);
    refused.add(mailOf(144_000).length);
    expect(await mailOver(client, { data: mailOf(144_000) })).toBe(
      '554 5.6.0 validation_error: subject: is bad',
    );
    await eventually(async () => {
      const files = await readdir(own.home, { recursive: true, withFileTypes: true });
      expect(files.filter((file) => file.isFile())).toEqual([]);
    });
  });

  it('beyond the limit are refused, before or after they were sent', async () => {
    const own = await start({ maxBytes: 100_000 });
    const client = await loggedIn(own);
    expect(await client.say('MAIL FROM:<ann@example.com> SIZE=100001')).toMatch(/^552 /);
    const data = `${SHORT_MAIL}${'x\r\n'.repeat(40_000)}`;
    expect(await mailOver(client, { data })).toBe('552 5.3.4 the mail is too large');
    expect(await mailOver(client)).toMatch(/^250 /);
  });
});

describe('the envelope', () => {
  it('needs a sender', async () => {
    const client = await loggedIn();
    expect(await client.say('MAIL FROM:<>')).toBe(
      '550 5.7.1 a sender is required: this port takes mail to send, no bounces',
    );
  });

  it('has each recipient once, and refuses what is no address', async () => {
    const client = await loggedIn();
    await client.say('MAIL FROM:<ann@example.com>');
    expect(await client.say('RCPT TO:<bob@example.net>')).toMatch(/^250 /);
    expect(await client.say('RCPT TO:<BOB@EXAMPLE.net>')).toMatch(/^250 /);
    expect(await client.say('RCPT TO:<bob@[192.0.2.1]>')).toBe(
      '553 5.1.3 validation_error: bob@[192.0.2.1] must have a domain name after the @, not an IP address',
    );
    expect(await client.say('RCPT TO:<j\u00f6rg@example.net>')).toMatch(/^250 /);
    await client.say('DATA');
    await client.say(`${SHORT_MAIL}.`);
    expect(stage.submission.taken.map(({ recipients }) => recipients)).toEqual([
      ['bob@example.net', 'j\u00f6rg@example.net'],
    ]);
  });

  it('has at most 100 recipients, or as many as the rate limit of the key allows at once', async () => {
    const own = await start({ ratePerKey: 100 });
    const slow = await start({ ratePerKey: 5 });
    for (const [where, most] of [
      [own, 100],
      [slow, 10],
    ] as const) {
      const client = await loggedIn(where);
      await client.say('MAIL FROM:<ann@example.com>');
      for (let index = 0; index < most; index += 1)
        expect(await client.say(`RCPT TO:<u${index}@example.net>`)).toMatch(/^250 /);
      expect(await client.say('RCPT TO:<one.more@example.net>')).toBe(
        '452 4.5.3 too many recipients; send the rest in another transaction',
      );
      await client.say('DATA');
      expect(await client.say(`${SHORT_MAIL}.`)).toMatch(/^250 /);
      expect(where.taken[0]?.recipients).toHaveLength(most);
    }
  });
});

describe('a refusal', () => {
  let error: Error;
  let own: TestSubmission;
  let client: SmtpDialogue;
  beforeAll(async () => {
    own = await startTestSubmission(stage.test.database.pool, { submit: () => Promise.reject(error) });
    client = await loggedIn(own);
  });
  afterAll(() => own.stop());

  it.each<[string, Error, string]>([
    [
      'of fields',
      invalid({ 'headers.X-A': ['must not be empty'], subject: ['is bad'] }),
      '554 5.6.0 validation_error: headers.X-A: must not be empty; subject: is bad',
    ],
    [
      'of a sender',
      new AppError('sender_not_verified', 'verify the domain'),
      '550 5.7.1 sender_not_verified: verify the domain',
    ],
    ['of a tag', new AppError('reserved_tag', 'it is ours'), '554 5.7.1 reserved_tag: it is ours'],
    [
      'of a key',
      new AppError('idempotency_conflict', 'used before'),
      '554 5.7.1 idempotency_conflict: used before',
    ],
    ['of a key that may not send', new AppError('forbidden', 'no'), '554 5.7.1 forbidden: no'],
    [
      'of a size',
      new AppError('payload_too_large', 'too many bytes'),
      '552 5.3.4 payload_too_large: too many bytes',
    ],
    ['without funds', new AppError('insufficient_funds', 'top up'), '452 4.3.1 insufficient_funds: top up'],
    ['by the cap', new AppError('spend_cap_reached', 'raise it'), '452 4.3.1 spend_cap_reached: raise it'],
    [
      'by the sandbox',
      new AppError('sandbox_limit_reached', 'verify'),
      '452 4.3.1 sandbox_limit_reached: verify',
    ],
    ['without a database', new AppError('unavailable', 'try again'), '451 4.3.0 unavailable: try again'],
    [
      'by a lost connection',
      new Error('secret detail'),
      '451 4.3.0 unavailable: the mail cannot be accepted now; try again later',
    ],
    [
      'with a status of its own',
      new SubmissionRefusal(554, '5.6.1', 'takes no encrypted mail'),
      '554 5.6.1 takes no encrypted mail',
    ],
    [
      'in other letters, on several lines',
      invalid({ text: ['l\u00fcge\r\n250 OK'] }),
      '554 5.6.0 validation_error: text: l?ge 250 OK',
    ],
    [
      'in many words',
      invalid({ text: ['x'.repeat(2_000)] }),
      `554 5.6.0 validation_error: text: ${'x'.repeat(473)}...`,
    ],
  ])('%s has its code', async (_what, thrown, reply) => {
    error = thrown;
    expect(await mailOver(client)).toBe(reply);
    expect(reply.length).toBeLessThanOrEqual(510);
  });
});

describe('the rate limit', () => {
  it('counts recipients, and delays a mail near the limit once before it refuses it', async () => {
    const asked: [string, number, number][] = [];
    let refusals = 1;
    const own = await start({
      ratePerKey: 7,
      limits: {
        burstOf: (perSecond) => 2 * perSecond,
        request(...counted) {
          asked.push(counted);
          if (refusals > 0) {
            refusals -= 1;
            throw new AppError('rate_limited', 'at most 7 a second', { headers: { 'Retry-After': '0.3' } });
          }
        },
      },
    });
    const client = await loggedIn(own);
    const to = ['bob@example.net', 'eve@example.net'];
    const began = performance.now();
    expect(await mailOver(client, { to })).toMatch(/^250 /);
    expect(performance.now() - began).toBeGreaterThan(290);
    expect(asked).toEqual([1, 2].map(() => [`key ${stage.tenant.apiKeyId}`, 7, 2]));
    refusals = 2;
    expect(await mailOver(client)).toBe('450 4.7.1 rate_limited: at most 7 a second');
  });
});
