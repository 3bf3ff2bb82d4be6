// Bounces in any form and complaints are classified, and automatic replies and unreadable mail are ignored.
import { describe, expect, it } from '@jest/globals';
import { reportedBounce } from '../../../../src/delivery/terms/bounces.ts';
import { autoReplyFields } from '../../../../src/delivery/wire/inbound/auto-reply-fields.ts';
import {
  type InboundMail,
  isAutomaticReply,
  readReport,
} from '../../../../src/delivery/wire/inbound/report.ts';
import {
  attachedComplaint,
  autoReply,
  deliveryStatus,
  eximBounce,
  exchangeBounce,
  feedbackReport,
  qmailBounce,
  sendmailBounce,
  type StatusFields,
  textBounce,
} from '../../../support/reports.ts';

const mail = {
  messageId: '7-21i3v9-AAAAAAAAAAAAAAAAAAAAAA@mail.test',
  returnPath: 'b-7-21i3v9-aaaaaaaaaaaaaaaaaaaaaaaaaa@mail.test',
  to: 'ann@example.com',
};
const reference = '7-21i3v9-AAAAAAAAAAAAAAAAAAAAAA';
const returnPath = 'b-7-21i3v9-aaaaaaaaaaaaaaaaaaaaaaaaaa';

const read = (raw: string | Buffer, inbound: Partial<InboundMail> = {}) =>
  readReport({ head: Buffer.from(raw), envelopeFrom: '', feedbackLoop: false, ...inbound });

async function bounceIn(raw: string, inbound: Partial<InboundMail> = {}): Promise<string> {
  const report = await read(raw, inbound);
  if (report.kind !== 'failed') return report.kind;
  const { bounce, suppresses } = reportedBounce(report.refusal);
  return `${bounce.type} ${bounce.subtype}${suppresses ? '' : ', not counted'}`;
}

describe('a delivery status notification', () => {
  it.each<[string, StatusFields]>([
    ['hard no_such_mailbox', {}],
    // Postfix joins the lines of a reply, and adds the command.
    [
      'hard no_such_mailbox',
      {
        diagnostic:
          'smtp; 550-5.1.1 The email account that you tried to reach does not exist.\n    Please try 550-5.1.1 double-checking it. 550 5.1.1\n    https://support.google.com/mail/?p=NoSuchUser (in reply to RCPT TO command)',
      },
    ],
    ['hard no_such_mailbox', { status: '5.0.0', diagnostic: 'smtp; 550 5.1.1 no such user' }],
    // Some servers leave out the type of the diagnostic.
    ['hard no_such_mailbox', { status: '5.0.0', diagnostic: '550 5.1.1 no such user' }],
    ['soft blocked, not counted', { status: '5.1.1', diagnostic: '550 5.7.1 Blocked' }],
    [
      'soft blocked, not counted',
      { status: '5.1.1', diagnostic: '550 5.7.1 Blocked; see https://example.com' },
    ],
    [
      'soft blocked, not counted',
      { status: '5.1.1', diagnostic: 'Blocked by a filter; see https://example.com' },
    ],
    ['hard no_such_mailbox', { status: '5.0.0', diagnostic: 'smtp; 550 No Such User Here' }],
    ['hard no_such_mailbox', { status: '5.0.0', diagnostic: 'smtp; 550 no (in reply to RCPT TO command)' }],
    [
      'soft other, not counted',
      { status: '5.0.0', diagnostic: 'smtp; 550 no (in reply to end of DATA command)' },
    ],
    [
      'soft blocked, not counted',
      { status: '5.0.0', diagnostic: 'smtp; 550 rejected as spam (in reply to RCPT TO command)' },
    ],
    [
      'hard no_such_mailbox',
      { status: '5.1.10', diagnostic: 'smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found' },
    ],
    [
      'hard no_such_mailbox',
      { status: '5.4.1', diagnostic: 'smtp;550 5.4.1 Recipient address rejected: Access denied.' },
    ],
    ['soft mailbox_full', { status: '5.2.2', diagnostic: 'x-unix; over quota' }],
    [
      'soft mailbox_full',
      { status: '4.4.7', diagnostic: 'smtp; 452 4.2.2 The recipient’s inbox is out of storage space' },
    ],
    ['soft expired', { status: '4.4.7', diagnostic: 'smtp; 450 4.2.1 Mailbox busy' }],
    [
      'soft expired, not counted',
      {
        status: '4.4.1',
        diagnostic: 'X-Postfix; connect to mx.example.com[192.0.2.2]:25: Connection timed out',
      },
    ],
    [
      'soft no_such_domain',
      {
        status: '5.4.4',
        diagnostic:
          'X-Postfix; Host or domain name not found. Name service error for name=example.invalid type=A: Host not found',
      },
    ],
    [
      'soft blocked, not counted',
      { status: '5.7.1', diagnostic: 'smtp; 550 5.7.1 blocked using zen.spamhaus.org' },
    ],
    ['hard no_such_mailbox', { status: '5.1.1 (bad destination)', diagnostic: 'nonsense' }],
  ])('is %s: %j', async (expected, fields) => {
    expect(await bounceIn(deliveryStatus(mail, fields))).toBe(expected);
  });

  it.each(['delayed', 'relayed', 'expanded', 'Delayed (will retry)'])(
    'changes nothing if the action is %s',
    async (action) => {
      const fields = { action, status: '4.4.1', diagnostic: 'smtp; 421 try later' };
      expect(await read(deliveryStatus(mail, fields))).toEqual({ kind: 'none', reason: 'no_outcome' });
    },
  );

  it.each([
    ['its action is unheard-of', { action: 'mislaid', status: '5.1.1' }],
    ['it has failed with a code of success', { status: '2.0.0' }],
    ['it was delivered with a code of failure', { action: 'delivered' }],
  ])('is left for a person to read if %s', async (_what, fields) => {
    expect(await read(deliveryStatus(mail, fields))).toEqual({ kind: 'none', reason: 'unreadable' });
  });

  it('reports a delivery', async () => {
    const fields = { action: 'delivered', status: '2.0.0', diagnostic: 'smtp; 250 2.0.0 Ok: queued as 9' };
    expect(await read(deliveryStatus(mail, fields))).toMatchObject({ kind: 'delivered' });
  });

  it('is about the failed recipient if it lists several', async () => {
    const further = 'Final-Recipient: rfc822; list@example.com\nAction: expanded\nStatus: 2.0.0\n';
    expect(await bounceIn(deliveryStatus(mail, { further }))).toBe('hard no_such_mailbox');
    const failed = 'Final-Recipient: rfc822; b@example.com\nAction: failed\nStatus: 5.2.2\n';
    expect(
      await bounceIn(deliveryStatus(mail, { action: 'delayed', status: '4.2.0', further: failed })),
    ).toBe('soft mailbox_full');
  });

  it('identifies its message by ENVID, Message-ID and return path', async () => {
    const perMessage = `Original-Envelope-Id: ${reference}\n`;
    expect(await read(deliveryStatus(mail, { perMessage }))).toMatchObject({
      references: [reference, reference, returnPath],
    });
  });

  it('is read in base64 and from a multipart/mixed', async () => {
    const status = Buffer.from('Reporting-MTA: dns; x\r\n\r\nAction: failed\r\nStatus: 5.1.1\r\n').toString(
      'base64',
    );
    const raw = `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: message/delivery-status\r\nContent-Transfer-Encoding: base64\r\n\r\n${status}\r\n--b--\r\n`;
    expect(await bounceIn(raw)).toBe('hard no_such_mailbox');
  });

  it('is not read from a message that a person attached', async () => {
    const attached = deliveryStatus(mail);
    const raw = `Content-Type: multipart/mixed; boundary=outer\r\n\r\n--outer\r\nContent-Type: message/rfc822\r\n\r\n${attached}\r\n--outer--\r\n`;
    expect(await bounceIn(raw)).toBe('none');
  });
});

describe('a feedback report', () => {
  it.each(['abuse', 'fraud', 'opt-out', 'Abuse'])('is a complaint if its type is %s', async (type) => {
    expect(await read(feedbackReport(mail, type))).toEqual({
      kind: 'complaint',
      references: [reference, returnPath, returnPath],
      recipient: 'redacted@yahoo.com',
    });
  });

  it.each(['not-spam', 'auth-failure', 'virus', 'dmarc', 'Other'])(
    'is not a complaint if its type is %p',
    async (type) => {
      expect(await read(feedbackReport(mail, type))).toEqual({ kind: 'none', reason: 'no_complaint' });
    },
  );

  it.each(['', 'misc'])('is left for a person to read if its type is %p', async (type) => {
    expect(await read(feedbackReport(mail, type))).toEqual({ kind: 'none', reason: 'unreadable' });
  });

  it('may be an attached message, but only at the address for feedback loops', async () => {
    const raw = attachedComplaint(mail);
    expect(await read(raw, { feedbackLoop: true, envelopeFrom: 'staff@hotmail.com' })).toEqual({
      kind: 'complaint',
      references: [reference, returnPath],
      recipient: null,
    });
    expect(await bounceIn(raw)).toBe('none');
  });
});

describe('a bounce in an old form', () => {
  it.each([
    ['hard no_such_mailbox', qmailBounce(mail, 'Sorry, no mailbox here by that name. (#5.1.1)')],
    [
      'soft mailbox_full',
      qmailBounce(
        mail,
        '192.0.2.2 does not like recipient.\nRemote host said: 552 5.2.2 mailbox full\nGiving up on 192.0.2.2.',
      ),
    ],
    [
      'soft no_such_domain',
      qmailBounce(mail, "Sorry, I couldn't find any host named example.invalid. No such host (#5.4.4)"),
    ],
    ['hard no_such_mailbox', eximBounce(mail, 'Unrouteable address')],
    [
      'hard no_such_mailbox',
      eximBounce(
        mail,
        `SMTP error from remote mail server after RCPT TO:<${mail.to}>:\n    host mx.example.com [192.0.2.2]: 550 5.1.1 User unknown`,
      ),
    ],
    [
      'soft blocked, not counted',
      eximBounce(
        mail,
        'SMTP error from remote mail server after end of data:\n    host mx.example.com [192.0.2.2]: 550 High probability of spam',
      ),
    ],
    [
      'hard no_such_mailbox',
      exchangeBounce(
        mail,
        'The e-mail account does not exist at the organization this message was sent to.\n            <mx.example.com #5.1.1>',
      ),
    ],
    ['soft mailbox_full', exchangeBounce(mail, '<mx.example.com #5.2.2 smtp;550 5.2.2 mailbox full>')],
    ['hard no_such_mailbox', sendmailBounce(mail, '550 5.1.1 User unknown')],
  ])('is %s: %#', async (expected, raw) => {
    expect(await bounceIn(raw)).toBe(expected);
    expect(await bounceIn(raw, { envelopeFrom: 'MAILER-DAEMON@mx.example.com' })).toBe(expected);
  });

  it.each([
    [
      'OpenSMTPD',
      'hard no_such_mailbox',
      `    Hi!

    This is the MAILER-DAEMON, please DO NOT REPLY to this e-mail.

    An error has occurred while attempting to deliver a message for
    the following list of recipients:

{to}: 550 5.1.1 <{to}>: Recipient address rejected: User unknown

    Below is a copy of the original message:
`,
    ],
    [
      'DragonFly',
      'soft blocked, not counted',
      `This is the DragonFly Mail Agent v0.13 at mx.example.com.

There was an error delivering your mail to <{to}>.

mx.example.org [192.0.2.9] did not like our final DATA:
550-5.7.26 This mail is unauthenticated
550 5.7.26 see the policy

Message headers follow.
`,
    ],
    [
      'Gmail of old',
      'hard no_such_mailbox',
      `Delivery to the following recipient failed permanently:

     {to}

Technical details of permanent failure:
Google tried to deliver your message, but it was rejected by the server mx.example.com.

The error that the other server returned was:
550 5.1.1 <{to}>: User unknown

----- Original message -----
`,
    ],
    [
      'Gmail of old, with its header of failed recipients',
      'soft mailbox_full',
      `Delivery to the following recipient failed permanently:

     {to}

Technical details of permanent failure:
The email account that you tried to reach is over quota.

----- Original message -----
`,
      'X-Failed-Recipients: {to}\n',
    ],
    [
      'GMX, which writes no reply code',
      'hard no_such_mailbox',
      `This message was created automatically by mail delivery software.

A message that you sent could not be delivered to one or more of
its recipients. This is a permanent error. The following address
failed:

"{to}":
SMTP error from remote server after RCPT command:
host: mx.example.com
5.1.1 <{to}>... User unknown

--- The header of the original message is following. ---
`,
    ],
    [
      '1&1, with the reason in a paragraph of its own',
      'soft other, not counted',
      `This message was created automatically by mail delivery software.

A message that you sent could not be delivered to one or more of
its recipients. This is a permanent error.

The following address failed:

{to}

For the following reason:

Mail size limit exceeded.

--- The header of the original message is following. ---
`,
    ],
    [
      'Zoho',
      'hard no_such_mailbox',
      `This message was created automatically by mail delivery software.
A message that you sent could not be delivered to one or more of its recipients. This is a permanent error.

{to} Invalid Address, ERROR_CODE :550, ERROR_CODE :5.1.1 <{to}>... User unknown
`,
    ],
    [
      'Yahoo',
      'soft mailbox_full',
      `Sorry, we were unable to deliver your message to the following address.

<{to}>:
Remote host said:
552 5.2.2 <{to}>... Mailbox full
[RCPT_TO]

--- Below this line is a copy of the message.
`,
    ],
    [
      'Amazon WorkMail',
      'hard no_such_mailbox',
      `An error occurred while trying to deliver the mail to the following recipients:
{to}

Technical report:

Reporting-MTA: dsn; smtp.example.com

Action: failed
Final-Recipient: rfc822; {to}
Diagnostic-Code: smtp; 550 5.1.1 User unknown
Status: 5.1.1
`,
    ],
    [
      'Exchange Online',
      'hard no_such_mailbox',
      `Delivery has failed to these recipients or groups:

{to}
The email address wasn't found at the destination domain.

Diagnostic information for administrators:

{to}
Remote Server returned '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found'
`,
    ],
    [
      'Exchange 5.5',
      'hard no_such_mailbox',
      `Your message

  To:      {to}
  Subject: Your order

did not reach the following recipient(s):

{to} on Mon, 2 Mar 2026 10:00:00 -0000
    The recipient name is not recognized
`,
    ],
    [
      'Sendmail of old',
      'hard no_such_mailbox',
      `   ----- Transcript of session follows -----
550 <{to}>... User unknown

   ----- Unsent message follows -----
`,
    ],
    ['IMail', 'hard no_such_mailbox', 'Unknown user: {to}\n\nOriginal message follows.\n'],
    [
      'm-FILTER',
      'hard no_such_mailbox',
      '-------server message\n550 unknown user <{to}>\n\n-------SMTP command\n',
    ],
  ])('is read from the text of %s: %s', async (_program, expected, text, header = '') => {
    const raw = textBounce(mail, text, header);
    expect(await bounceIn(raw)).toBe(expected);
    expect(await bounceIn(raw, { envelopeFrom: 'ann@example.com' })).toBe('none');
  });

  it('is read from the text of a report that has no reply', async () => {
    const text = `    This is the MAILER-DAEMON, please DO NOT REPLY to this email.

    An error has occurred while attempting to deliver a message for
    the following list of recipients:

${mail.to}: 550 5.1.1 User unknown
`;
    const raw = deliveryStatus(mail, { status: '5.0.0', diagnostic: '' }).replace(
      'This is a MIME-encapsulated message.',
      '',
    );
    expect(await bounceIn(raw)).toBe('soft other, not counted');
    expect(
      await bounceIn(raw.replace(/(Content-Type: text\/plain[^]*?\r\n\r\n)[^]*?(?=\r\n--)/, `$1${text}`)),
    ).toBe('hard no_such_mailbox');
  });

  it.each([
    [
      'OpenSMTPD',
      'This is the MAILER-DAEMON, please DO NOT REPLY to this e-mail.\n\nA message is delayed for more than 4 hours for\nthe following list of recipients:\n\n{to}: 450 4.2.1 busy\n',
    ],
    [
      'Gmail',
      'Delivery to the following recipient has been delayed:\n\n     {to}\n\nMessage will be retried for 2 more day(s)\n',
    ],
    [
      'Exim',
      'This message was created automatically by mail delivery software.\nA message that you sent has not yet been delivered to one or more of its\nrecipients after more than 24 hours. The following address(es)\nhave not yet been delivered:\n\n  {to}\n',
    ],
    [
      'Sendmail',
      '    **********************************************\n    **      THIS IS A WARNING MESSAGE ONLY      **\n\n   ----- Transcript of session follows -----\n<{to}>... Deferred: Connection timed out\n',
    ],
  ])('is not a warning of %s about a delay', async (_program, text) => {
    expect(await bounceIn(textBounce(mail, text))).toBe('none');
  });

  it('does not count if a person sent it', async () => {
    const raw = qmailBounce(mail, 'Sorry, no mailbox here by that name. (#5.1.1)');
    expect(await bounceIn(raw, { envelopeFrom: 'ann@example.com' })).toBe('none');
  });

  it('is not a warning about a delay', async () => {
    const raw = eximBounce(mail, 'Delay reason: 450 4.2.1 busy').replace(/^X-Failed-Recipients.*\r\n/m, '');
    expect(await bounceIn(raw)).toBe('none');
  });
});

describe('an automatic reply', () => {
  it.each([
    'Auto-Submitted: auto-replied\n',
    'Precedence: auto_reply\n',
    'X-Autoreply: yes\n',
    'X-Autorespond: out\n',
    '',
  ])('changes nothing: %j', async (header) => {
    for (const envelopeFrom of ['', 'ann@example.com']) {
      const raw = autoReply(
        header,
        'My server said: 550 5.1.1 User unknown. The following address(es) failed:\n\n  x',
      );
      expect(await bounceIn(raw, { envelopeFrom })).toBe('none');
    }
  });
});

it.each(autoReplyFields)(
  'a mail with %s is an automatic reply, of which each mailing brings many',
  async (name) => {
    const head = Buffer.from(`From: ann@example.com\r\n${name}: yes\r\n\r\nI am away.\r\n`);
    const inbound = { head, envelopeFrom: 'ann@example.com', feedbackLoop: false };
    expect(isAutomaticReply(await readReport(inbound), inbound)).toBe(true);
  },
);

describe('a mail that cannot be read', () => {
  it.each([
    ['is empty', ''],
    ['is binary', Buffer.from([0, 255, 254, 13, 10, 0, 200])],
    [
      'is nested too deeply',
      Array.from(
        { length: 50 },
        (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`,
      ).join(''),
    ],
    ['has a huge header', `${'X-A: b\r\n'.repeat(20_000)}\r\n`],
    ['has a report without fields', 'Content-Type: message/delivery-status\r\n\r\n\r\n'],
    [
      'has a field without an end',
      `Content-Type: message/delivery-status\r\n\r\nAction:${'x'.repeat(20_000)}`,
    ],
  ])('changes nothing if it %s', async (_name, raw) => {
    expect((await read(raw)).kind).toBe('none');
  });

  it.each(['\r\n', ' \r\n', 'a \r\n', '550 \r\n'])(
    'is read up to its first 2,500 lines: %j',
    async (line) => {
      const reportAfter = (lines: number) => {
        const [header = '', body = ''] = deliveryStatus(mail, {}).split(/(?<=\r\n\r\n)([^]*)/);
        return bounceIn(header + line.repeat(lines) + body);
      };
      expect(await reportAfter(1_000)).toBe('hard no_such_mailbox');
      expect(await reportAfter(2_500)).not.toBe('hard no_such_mailbox');
    },
  );

  it('is read only at its beginning', async () => {
    const late = deliveryStatus(mail).replace('This is a MIME-encapsulated message.', 'x\r\n'.repeat(60_000));
    expect(await bounceIn(late)).toBe('none');
    const manyParts = deliveryStatus(mail).replace(
      'This is a MIME-encapsulated message.',
      '--x\r\n'.repeat(300),
    );
    expect(await bounceIn(manyParts)).toBe('none');
  });
});
