// A submitted mail becomes what a request would send, with its own addresses, threads and fields; the same mail once.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { startTestSubmission, type TestSubmission } from '../../support/submitted-mails.ts';

let stage: TestSubmission;
const logged: Record<string, unknown>[] = [];
beforeAll(async () => {
  stage = await startTestSubmission(
    pino({}, { write: (line) => logged.push(JSON.parse(line) as (typeof logged)[0]) }),
  );
});
afterAll(() => stage.close());

const HEAD = 'From: Shop <shop@own.test>\nTo: Ada <ada@example.com>\nSubject: Hello\n';
const mailWith = (fields: string, body = 'Hi\n') => `${HEAD}${fields}\n${body}`;
const idIn = (reply: string) => Number(/queued as (\d+)/.exec(reply)?.[1]);
const messageOf = async (reply: string) =>
  (await stage.api.request('GET', `/v1/my/messages/${idIn(reply)}`)).body;

/** A field of a mail that arrived, unfolded. */
function field(raw: string, name: string): string | null {
  const header = raw.split('\r\n\r\n', 1)[0] ?? '';
  const found = new RegExp(`^${name}: (.*(?:\\r\\n[ \\t].*)*)`, 'im').exec(header);
  return found?.[1]?.replace(/\r\n[ \t]/g, ' ') ?? null;
}

async function refusalOf(raw: string, recipients = ['ada@example.com']): Promise<string> {
  return stage.submit(raw, recipients).then(
    (reply) => `accepted: ${reply}`,
    (error: Error & { responseCode?: number; validationErrors?: object }) =>
      error.responseCode === undefined
        ? `${error.message} ${JSON.stringify(error.validationErrors)}`
        : `${error.responseCode} ${error.message}`,
  );
}

describe('a submitted mail', () => {
  it('is an ordinary message if it has one recipient and no file', async () => {
    const reply = await stage.submit(mailWith('X-Order: 7\n'), ['ada@example.com']);
    const message = await messageOf(reply);
    expect(message).toMatchObject({
      to: 'Ada <ada@example.com>',
      subject: 'Hello',
      text: 'Hi\n',
      html: null,
    });
    expect(message).toMatchObject({
      headers: { 'X-Order': '7' },
      from: 'Shop <shop@own.test>',
      idempotency_key: null,
    });
    expect(message.letter_id).toBeUndefined();
  });

  it('keeps To and Cc in their order, with addresses that do not get it, and hides the others', async () => {
    const raw =
      'From: shop@own.test\nTo: other@example.net, Ada <ada@example.com>\nCc: cid@example.com, "x, y" <xy@example.org>\nBcc: bob@example.com\nSubject: All\n\nHi\n';
    const mails = await stage.deliver(raw, ['ada@example.com', 'cid@example.com', 'bob@example.com']);
    for (const mail of mails) {
      expect(field(mail, 'To')).toBe('other@example.net, Ada <ada@example.com>');
      expect(field(mail, 'Cc')).toBe('cid@example.com, "x, y" <xy@example.org>');
      expect(field(mail, 'Bcc')).toBeNull();
    }
  });

  it('may have names that are folded with tabs', async () => {
    const raw =
      'From: The\n\tShop <shop@own.test>\nTo: Ada\n\tLovelace <ada@example.com>,\n\tBob <bob@example.com>\nReply-To: The\n\tDesk <desk@own.test>\nSubject: Hello\n\nHi\n';
    const [mail = ''] = await stage.deliver(raw, ['ada@example.com']);
    expect(field(mail, 'From')).toBe('The Shop <shop@own.test>');
    expect(field(mail, 'To')).toBe('Ada Lovelace <ada@example.com>, Bob <bob@example.com>');
    expect(field(mail, 'Reply-To')).toBe('The Desk <desk@own.test>');
  });

  it('names no one if no field does', async () => {
    const [mail = ''] = await stage.deliver('From: shop@own.test\nSubject: Secret\n\nHi\n', [
      'ada@example.com',
    ]);
    expect(field(mail, 'To')).toBe('undisclosed-recipients:;');
  });

  it('may have no subject and no text', async () => {
    const [mail = ''] = await stage.deliver('From: shop@own.test\nTo: ada@example.com\n\n', [
      'ada@example.com',
    ]);
    expect(field(mail, 'Subject')).toBe('');
  });

  it('joins the thread of an earlier one by the Message-ID that its client gave it', async () => {
    const [first = ''] = await stage.deliver(mailWith('Message-ID: <first@program.test>\n'), [
      'ada@example.com',
    ]);
    const sent = field(first, 'Message-ID');
    const answer = mailWith(
      'Message-ID: <second@program.test>\nIn-Reply-To: <first@program.test>\nReferences: <other@x.test> <first@program.test>\n',
    );
    const [second = ''] = await stage.deliver(answer, ['ada@example.com']);
    expect(sent).toContain('@mail.test>');
    expect(field(second, 'In-Reply-To')).toBe(sent);
    expect(field(second, 'References')).toBe(`<other@x.test> ${sent}`);
  });

  it('is accepted once, whatever servers it passes', async () => {
    const raw = mailWith('Message-ID: <once@program.test>\n');
    const first = await stage.submit(raw, ['ada@example.com']);
    expect(await stage.submit(`Received: from elsewhere\n${raw}`, ['ada@example.com'])).toBe(
      `${first} (again)`,
    );
    const withFile = `${HEAD}Message-ID: <file@program.test>\nContent-Type: text/csv; name=a.csv\n\na,b\n`;
    const file = await stage.submit(withFile, ['ada@example.com']);
    expect(await stage.submit(withFile, ['ada@example.com'])).toBe(`${file} (again)`);
    // Other bytes, other recipients, and mail without an id.
    expect(await stage.submit(raw.replace('Hi', 'Ho'), ['ada@example.com'])).not.toContain('again');
    expect(await stage.submit(raw, ['ada@example.com', 'bob@example.com'])).not.toContain('again');
    const bare = mailWith('');
    await stage.submit(bare, ['ada@example.com']);
    expect(await stage.submit(bare, ['ada@example.com'])).not.toContain('again');
  });

  it('says in X-Carillon fields what requests say', async () => {
    const template = {
      name: 'Welcome',
      channel: 'email',
      subject: 'Hi {{ name }}',
      body: '<p>{{ name }}</p>',
    };
    const { body: made } = await stage.api.request('POST', '/v1/my/templates', { body: template });
    const at = new Date(Date.now() + 3_600_000).toISOString();
    const fields = [
      ...[
        'Tag-Order: 1042',
        `Template: ${Number(made.id)}`,
        'Variables: {"name": "Jos\xc3\xa9"}',
        `Send-At: ${at}`,
      ],
      ...['Idempotency-Key: mine', 'Track-Opens: no'],
    ].map((line) => `X-Carillon-${line}\n`);
    const raw = `From: shop@own.test\nTo: ada@example.com\n${fields.join('')}\nUnused\n`;
    const reply = await stage.submit(raw, ['ada@example.com']);
    expect(await messageOf(reply)).toMatchObject({
      ...{ status: 'scheduled', scheduled_at: at, subject: 'Hi José', idempotency_key: 'mine' },
      ...{ tags: { order: '1042' }, template_id: made.id },
    });
    expect(await stage.submit(raw, ['ada@example.com'])).toBe(`${reply} (again)`);
  });

  it.each([
    [
      'X-Carillon-Tempalte: 1',
      '554 5.6.0 validation_error: X-Carillon-tempalte: is not known; did you mean X-Carillon-Template?',
    ],
    ['X-Carillon-Variables: {', '554 5.6.0 validation_error: X-Carillon-Variables: must be a JSON object'],
    ['X-Carillon-Variables: {"a": "\\ud800"}', 'variables.a":["must not contain half a surrogate pair'],
    ['X-Carillon-Variables: {"a": ["\\u0000"]}', 'variables.a.0":["must not contain the character NUL'],
    ['X-Carillon-Send-At: tomorrow', 'scheduled_at'],
    ['X-Carillon-Tag-account_id: 1', 'tags.account_id'],
    ['Cc: nobody', '553 5.1.3 Cc: nobody is not an email address'],
    [`X-Long: ${'x'.repeat(10_001)}`, 'headers.X-Long'],
  ])('is refused for %s', async (line, expected) => {
    expect(await refusalOf(mailWith(`${line.slice(0, 20_000)}\n`))).toContain(expected);
  });

  it('renders a template for its first recipient, whatever field names it', async () => {
    await stage.api.request('POST', '/v1/my/contacts', {
      body: { email: 'cid@example.com', first_name: 'Cid' },
    });
    const template = {
      name: 'Hello',
      channel: 'email',
      subject: 'Hi',
      body: '<p>{{ contact.first_name }}</p>',
    };
    const { body: made } = await stage.api.request('POST', '/v1/my/templates', { body: template });
    const raw = `From: shop@own.test\nX-Carillon-Template: ${Number(made.id)}\n`;
    for (const fields of ['Cc: Cid <cid@example.com>\n', '']) {
      const message = await messageOf(await stage.submit(`${raw}${fields}\nUnused\n`, ['cid@example.com']));
      expect(message.html).toContain('Cid');
    }
  });

  it('is refused for variables that are nested too deeply', async () => {
    const value = `{"a":${'['.repeat(9_000)}${']'.repeat(9_000)}}`;
    expect(await refusalOf(mailWith(`X-Carillon-Variables: ${value}\n`))).toContain('554 5.6.0');
  });

  it('has one verified sender', async () => {
    expect(await refusalOf(mailWith('').replace('shop@own.test', 'shop@foreign.test'))).toContain(
      'not a verified sender',
    );
    expect(await refusalOf(mailWith('').replace('From: Shop', 'From: a@own.test, Shop'))).toContain(
      '550 5.7.1',
    );
    expect(await refusalOf('To: ada@example.com\n\nHi\n')).toContain('550 5.7.1');
  });

  it('leaves out reserved fields, and is sent to no one that they name', async () => {
    const [mail = ''] = await stage.deliver(
      mailWith(
        'X-SMTPAPI: {"to": ["eve@example.com"]}\nReturn-Path: <a@b.test>\nX-PM-Tag: x\nX-Carillon-Tags: account_id=1; brand_id=1; message_id=7000\nSender: other@own.test\n',
      ),
      ['ada@example.com'],
    );
    for (const name of ['X-SMTPAPI', 'X-PM-Tag', 'Sender', 'Return-Path'])
      expect(field(mail, name)).toBeNull();
  });

  it('says in the log what it is sent without', async () => {
    const part = 'Content-Description: Notes\nContent-Type: text/csv; name=a.csv\n\na,b\n';
    const raw = `From: shop@own.test\nTo: Ada <ada@example.com>, bob@example.com\nCc: ADA@example.com, bob@example.com\nX-PM-Tag: x\nContent-Language: en\nContent-Type: multipart/mixed; boundary=b\n\n--b\n${part}--b--\n`;
    const reply = await stage.submit(raw, ['ada@example.com']);
    expect(logged.filter(({ message_id: id }) => id === idIn(reply))).toMatchObject([
      {
        left_out: ['x-pm-tag', 'content-language'],
        left_out_of_parts: ['content-description'],
        repeated_addresses: 2,
      },
    ]);
    const count = logged.length;
    await stage.submit(mailWith('Received: from a by b\n'), ['ada@example.com']);
    expect(logged).toHaveLength(count);
  });

  it('refuses a file that mailbox providers refuse', async () => {
    const raw = `${HEAD}Content-Type: application/octet-stream; name=run.exe\nContent-Transfer-Encoding: base64\n\nTVqQAAMAAAAEAAAA\n`;
    expect(await refusalOf(raw)).toContain('554 5.6.0 attachments.0.filename: names a file of the type .exe');
  });

  it('refuses such a file also behind one that prevents the mail from being rebuilt', async () => {
    const encoding = 'Content-Transfer-Encoding: base64\n';
    const empty = `Content-Type: application/octet-stream; name=a.bin\n${encoding}\n\n\n`;
    const program = `Content-Type: application/octet-stream; name=run.exe\n${encoding}\nTVqQAAMAAAAEAAAA\n`;
    const parts = `--b\nContent-Type: text/plain\n\nHi\n--b\n${empty}--b\n${program}--b--\n`;
    const raw = `${HEAD}Content-Type: multipart/mixed; boundary=b\n\n${parts}`;
    expect(await refusalOf(raw)).toContain('554 5.6.0 attachments.1.filename: names a file of the type .exe');
  });
});
