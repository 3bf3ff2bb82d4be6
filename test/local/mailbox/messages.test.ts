// The mailbox lists and shows captured messages, and no message can run scripts or load anything.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  createCaptureProvider,
  createCaptureSmsProvider,
} from '../../../src/delivery/wire/providers/capture/provider.ts';
import { openMailbox, type OpenMailbox } from './mailbox-client.ts';
import { outgoingEmail, outgoingSms } from '../../support/outgoing.ts';

const picture = Buffer.from('89504e470d0a1a0a', 'hex').toString('base64');

const evilHtml = `<!doctype html><html><head>
<meta http-equiv="refresh" content="0;url=https://evil.example/">
<base href="https://evil.example/"><LINK rel="preconnect" href="https://evil.example/">
<script>fetch('/api/messages')</script></head>
<body onload="alert(1)"><img src="https://evil.example/pixel.gif"><img src="cid:logo@mail"><img src="cid:evil@mail">
<form action="/clear" method="post"><input name="password"></form><iframe src="https://evil.example/"></iframe>
<a href="javascript:alert(1)">here</a></body></html>`;

/** An email that a hostile sender might write. */
const evilMail = [
  'From: "<script>alert(1)</script>" <a@evil.example>',
  'To: reader@example.com',
  'Subject: <img src=x onerror=alert(1)>',
  'X-Evil: "><script>alert(2)</script>',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=m',
  '',
  '--m',
  'Content-Type: multipart/related; boundary=r',
  '',
  '--r',
  'Content-Type: text/html; charset=utf-8',
  '',
  evilHtml.replaceAll('\n', '\r\n'),
  '--r',
  'Content-Type: image/png',
  'Content-ID: <logo@mail>',
  'Content-Disposition: inline; filename=logo.png',
  'Content-Transfer-Encoding: base64',
  '',
  picture,
  '--r',
  'Content-Type: image/svg+xml',
  'Content-ID: <evil@mail>',
  'Content-Disposition: inline; filename=evil.svg',
  '',
  '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(3)</script></svg>',
  '--r--',
  '--m',
  'Content-Type: text/html',
  `Content-Disposition: attachment; filename*=UTF-8''x%0D%0ASet-Cookie%3A%20a%3Db%22%3B.html`,
  '',
  '<script>alert(4)</script>',
  '--m--',
  '',
].join('\r\n');

describe('the mailbox', () => {
  let open: OpenMailbox;
  const ids: Record<string, number> = {};

  async function captureEmail(messageId: number, to: string, subject: string, data: string): Promise<number> {
    await createCaptureProvider({ pool: open.test.database.pool }).handOver([
      outgoingEmail({ messageId, to, subject, data }),
    ]);
    return (await open.ask(`/api/messages?message_id=${messageId}`)).body[0].id;
  }

  beforeAll(async () => {
    open = await openMailbox();
    const text = 'Subject: Hallo\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nGrüße & <b>Küsse</b>\r\n';
    ids.text = await captureEmail(1, 'Ada@Example.com', 'Hallo & <b>', text);
    ids.evil = await captureEmail(2, 'reader@example.com', '<img src=x onerror=alert(1)>', evilMail);
    ids.broken = await captureEmail(3, 'broken@example.com', '', `X: ${'y'.repeat(3_000_000)}\r\n\r\n`);
    const sms = createCaptureSmsProvider({ pool: open.test.database.pool });
    await sms.handOver([outgoingSms({ messageId: 4, text: 'Code <b>42</b> 你好' })]);
    ids.sms = (await open.ask('/api/messages?message_id=4')).body[0].id;
  });
  afterAll(() => open.close());

  describe('the list', () => {
    it('shows messages newest first, escaped, each with a link', async () => {
      const { body } = await open.browse('/');
      const links = [...body.matchAll(/href="\/messages\/(\d+)"/g)].map((match) => Number(match[1]));
      expect(links).toEqual([ids.sms, ids.broken, ids.evil, ids.text]);
      expect(body).toContain('4 messages, newest first');
      expect(body).toContain('&lt;img src=x onerror=alert(1)&gt;');
      expect(body).toContain('Code &lt;b&gt;42&lt;/b&gt; 你好');
      const sizes = [...body.matchAll(/class="size">([^<]*)</g)].map((match) => match[1]);
      expect(sizes).toEqual(['21 B', '3.0 MB', '1.3 kB', '84 B']);
      expect(body).not.toContain('<img');
    });

    it.each([
      ['q=ADA%40', ['text']],
      ['q=hallo', ['text']],
      ['q=%25', []],
      ['q=%00', []],
      ['q=carillon.localhost', ['broken', 'evil', 'text']],
      ['q=code', ['sms']],
      ['channel=sms', ['sms']],
      ['channel=email&q=15112', []],
      ['channel=pigeon&page=-1', ['sms', 'broken', 'evil', 'text']],
      ['page=2', []],
    ])('is searched by recipient, sender, subject or SMS text: %s', async (query, names) => {
      const { status, body } = await open.browse(`/?${query}`);
      expect(status).toBe(200);
      const links = [...body.matchAll(/href="\/messages\/(\d+)"/g)].map((match) => Number(match[1]));
      expect(links).toEqual(names.map((name) => ids[name]));
    });

    it('repeats the search text in its field, escaped', async () => {
      const { body } = await open.browse(`/?q=${encodeURIComponent('"><script>alert(1)</script>')}`);
      expect(body).toContain('value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"');
      expect(body).not.toContain('<script>');
    });
  });

  describe('a page', () => {
    it('loads nothing and runs only the script with its own nonce', async () => {
      const first = await open.browse('/');
      const policy = String(first.headers['content-security-policy']);
      const nonce = /script-src 'nonce-([\w-]{20,})'/.exec(policy)?.[1] ?? 'none';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
      expect(first.body.match(/<script/g)).toHaveLength(1);
      expect(first.body).toContain(`<script nonce="${nonce}">`);
      expect(first.body).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
      expect((await open.browse('/')).headers['content-security-policy']).not.toContain(nonce);
    });

    it.each(['html', 'text', 'source', 'headers', 'nonsense'])(
      'shows a hostile message as %s without running any of it',
      async (view) => {
        const { status, body } = await open.browse(`/messages/${ids.evil}?view=${view}`);
        expect(status).toBe(200);
        expect(body).not.toMatch(
          /<script|<img|<form action="\/clear" method="post"><input|<base|<meta http-equiv/i,
        );
        expect(body).toContain('<h1>&lt;img src=x onerror=alert(1)&gt;</h1>');
      },
    );

    it('frames HTML without scripts, forms or the origin of the mailbox', async () => {
      const { body } = await open.browse(`/messages/${ids.evil}`);
      const sandbox = /<iframe\s+sandbox="([^"]*)"/.exec(body)?.[1]?.split(' ');
      expect(sandbox).toEqual(['allow-popups', 'allow-popups-to-escape-sandbox']);
      expect(body).toContain(`src="/messages/${ids.evil}/preview"`);
    });

    it('shows the text of a text message and of an SMS, and source and headers unchanged', async () => {
      expect((await open.browse(`/messages/${ids.text}`)).body).toContain(
        'Grüße &amp; &lt;b&gt;Küsse&lt;/b&gt;',
      );
      expect((await open.browse(`/messages/${ids.sms}`)).body).toContain('Code &lt;b&gt;42&lt;/b&gt; 你好');
      const source = await open.browse(`/messages/${ids.evil}?view=source`);
      expect(source.body).toContain('X-Evil: &quot;&gt;&lt;script&gt;alert(2)');
      const headers = await open.browse(`/messages/${ids.evil}?view=headers`);
      expect(headers.body).toMatch(/X-Evil<\/th>\s*<td>&quot;&gt;&lt;script&gt;/);
    });

    it('shows the beginning of the source of a message that cannot be parsed', async () => {
      const { status, body } = await open.browse(`/messages/${ids.broken}`);
      expect(status).toBe(200);
      expect(body).toContain('cannot be parsed');
      expect(body.length).toBeLessThan(300_000);
    });

    it('is 404 for a message that does not exist', async () => {
      for (const path of [
        '/messages/999999',
        '/messages/999999999999999',
        `/messages/${ids.sms}/preview`,
        '/x',
      ]) {
        expect((await open.browse(path)).status).toBe(404);
      }
      expect((await open.browse('/messages/99999999999999999999')).status).toBe(404);
    });
  });

  describe('the preview', () => {
    it('forbids everything, even if it is opened outside the frame', async () => {
      const { headers } = await open.browse(`/messages/${ids.evil}/preview`);
      const policy = String(headers['content-security-policy']).split('; ');
      expect(policy).toEqual([
        'sandbox allow-popups allow-popups-to-escape-sandbox',
        "default-src 'none'",
        'img-src data:',
        "style-src 'unsafe-inline'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'self'",
      ]);
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-resource-policy': 'same-origin',
      });
    });

    it('disables elements that open connections despite the policy', async () => {
      const { body } = await open.browse(`/messages/${ids.evil}/preview`);
      expect(body).toContain('<no-LINK rel="preconnect"');
      expect(body).toContain('<no-iframe src="https://evil.example/">');
      expect(body).not.toMatch(/<(?:link|iframe)\b/i);
    });

    it('inlines the images attached to the message, but no SVG', async () => {
      const { body } = await open.browse(`/messages/${ids.evil}/preview`);
      expect(body).toContain(`<img src="data:image/png;base64,${picture}">`);
      expect(body).toContain('<img src="cid:evil@mail">');
      expect(body.startsWith('<!doctype html>')).toBe(true);
      expect(body.endsWith('<base target="_blank">')).toBe(true);
    });
  });

  describe('downloads', () => {
    it('return the source byte for byte, as an attachment', async () => {
      const { headers, body } = await open.browse(`/messages/${ids.evil}/raw`);
      expect(body).toBe(evilMail);
      expect(headers['content-disposition']).toMatch(/^attachment; filename=message-2.eml$/);
      expect(headers['content-security-policy']).toContain('sandbox');
    });

    it('are listed with their types and sizes', async () => {
      const { body } = await open.browse(`/messages/${ids.evil}`);
      const row =
        /<a href="\/messages\/\d+\/attachments\/\d+">logo\.png<\/a>[^]*?<\/tr>/.exec(body)?.[0] ?? '';
      expect(row).toContain('image/png');
      expect(row).toContain('8 B');
    });

    it('keep file names out of other headers, and hide the content type', async () => {
      const { body: message } = await open.ask(`/api/messages/${ids.evil}`);
      const number =
        message.attachments.findIndex((part: { content_type: string }) => part.content_type === 'text/html') +
        1;
      const { status, headers } = await open.browse(`/messages/${ids.evil}/attachments/${number}`);
      expect(status).toBe(200);
      expect(headers['set-cookie']).toBeUndefined();
      expect(headers['content-type']).toBe('application/octet-stream');
      expect(headers['content-disposition']).toMatch(
        /^attachment; filename="[\w. -]+"; filename\*=UTF-8''[\w.%-]+$/,
      );
      expect((await open.browse(`/messages/${ids.evil}/attachments/99`)).status).toBe(404);
      expect((await open.browse(`/messages/${ids.evil}/attachments/0`)).status).toBe(404);
    });
  });

  describe('the API for tests', () => {
    it('lists the messages of a recipient: an exact match that ignores case', async () => {
      const found = await open.ask('/api/messages?to=ada@example.COM');
      expect(found.headers['x-total-count']).toBe('1');
      expect(found.body).toEqual([
        {
          id: ids.text,
          message_id: 1,
          attempt: 1,
          channel: 'email',
          return_path: 'bounces@carillon.localhost',
          from: 'hello@carillon.localhost',
          to: 'Ada@Example.com',
          subject: 'Hallo & <b>',
          body: null,
          size_bytes: expect.any(Number),
          captured_at: expect.stringMatching(/^\d{4}-.*Z$/),
        },
      ]);
      expect((await open.ask('/api/messages?to=ada')).body).toEqual([]);
    });

    it('returns pages', async () => {
      const { headers, body } = await open.ask('/api/messages?limit=2&page=2');
      expect(headers['x-total-count']).toBe('4');
      expect(body.map((message: { id: number }) => message.id)).toEqual([ids.evil, ids.text]);
    });

    it('returns one message with its parsed parts', async () => {
      const { body } = await open.ask(`/api/messages/${ids.evil}`);
      expect(Buffer.from(body.source_base64, 'base64').toString()).toBe(evilMail);
      expect(body.html).toContain('https://evil.example/pixel.gif');
      expect(body.headers).toContainEqual({ name: 'X-Evil', value: '"><script>alert(2)</script>' });
      expect(body.attachments[0]).toMatchObject({ content_type: 'image/png', content_id: 'logo@mail' });
      expect((await open.ask(`/api/messages/${ids.sms}`)).body).toMatchObject({
        channel: 'sms',
        body: 'Code <b>42</b> 你好',
      });
      expect((await open.ask(`/api/messages/${ids.broken}`)).body.problem).toEqual(expect.any(String));
    });

    it('reports every invalid query parameter, in the error shape of the service', async () => {
      const bad = await open.ask('/api/messages?page=0&channel=pigeon&colour=red&limit=x&message_id=-1');
      expect(bad.status).toBe(422);
      expect(Object.keys(bad.body.validation_errors).sort()).toEqual([
        'channel',
        'colour',
        'limit',
        'message_id',
        'page',
      ]);
      const missing = await open.ask('/api/messages/999999');
      expect(missing.status).toBe(404);
      expect(missing.body).toMatchObject({ error: true, code: 'not_found', validation_errors: {} });
      expect((await open.ask('/api/nowhere')).status).toBe(404);
    });
  });
});
