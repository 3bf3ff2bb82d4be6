// A message has the required fields, the same bytes each time, and no way to inject a header.
import { describe, expect, it } from '@jest/globals';
import type { EmailAddress } from '../../../../src/delivery/terms/addresses/email.ts';
import { InvalidMessageError } from '../../../../src/delivery/content/mime/header-fields.ts';
import { buildMessage, prepareContent } from '../../../../src/delivery/content/mime/message.ts';
import { address, build, email, parse, recipient, split, wireFaults } from './wire.ts';

describe('a message', () => {
  it('has the required fields and those of its content', async () => {
    const built = build(
      email({
        replyTo: address('Help desk <help@example.com>'),
        headers: { 'X-Order': '17', 'List-Unsubscribe': '<https://example.com/u/1>' },
        feedbackId: '3:7:transactional:carillon',
      }),
      { to: address('Reader <reader@example.org>') },
    );
    expect(split(built).head.split('\r\n')).toEqual([
      'From: Sender <sender@example.com>',
      'Reply-To: Help desk <help@example.com>',
      'Subject: Hello',
      'To: Reader <reader@example.org>',
      'Date: Sun, 01 Mar 2026 09:05:07 +0000',
      'Message-ID: <42.7@mail.example.com>',
      'MIME-Version: 1.0',
      'Content-Type: text/plain;',
      ' charset=utf-8',
      'Content-Transfer-Encoding: 7bit',
      'Feedback-ID: 3:7:transactional:carillon',
      'X-Order: 17',
      'List-Unsubscribe: <https://example.com/u/1>',
      '',
    ]);
    expect(await parse(built)).toMatchObject({
      from: { name: 'Sender', address: 'sender@example.com' },
      replyTo: [{ name: 'Help desk', address: 'help@example.com' }],
      to: [{ name: 'Reader', address: 'reader@example.org' }],
      subject: 'Hello',
      messageId: '<42.7@mail.example.com>',
      date: '2026-03-01T09:05:07.000Z',
      text: 'Hello\n',
    });
  });

  it('has text and HTML as alternatives, the HTML last', async () => {
    const built = build(email({ text: 'plain', html: '<p>rich</p>' }));
    const { head, body } = split(built);
    expect(head).toContain('Content-Type: multipart/alternative;');
    expect(body.indexOf('text/plain')).toBeLessThan(body.indexOf('text/html'));
    expect(await parse(built)).toMatchObject({ text: 'plain\n', html: '<p>rich</p>\n', attachments: [] });
    expect(wireFaults(built)).toEqual([]);
  });

  it.each([
    [{ html: null, text: 'plain' }, 'text/plain'],
    [{ html: '', text: 'plain' }, 'text/plain'],
    [{ html: null, text: null }, 'text/plain'],
    [{ html: '<p>rich</p>', text: '' }, 'text/html'],
    [{ html: '<img src="https://example.com/a.png">', text: null }, 'text/html'],
    [{ html: '<p>rich</p>', text: null }, 'multipart/alternative'],
  ])('of %j is %s', (content, mediaType) => {
    expect(split(build(email(content))).head).toContain(`Content-Type: ${mediaType};`);
  });

  it('gets its text from the HTML if there is only HTML', async () => {
    const { text } = await parse(build(email({ text: null, html: '<h1>Hi</h1><p>you <b>there</b></p>' })));
    expect(text?.trim()).toBe('Hi\n\nyou there');
  });

  it('needs SMTPUTF8 for a non-ASCII address, which it does not encode', async () => {
    const built = build(email(), { to: address('Jörg <jörg@münchen.de>') });
    expect(built).toMatchObject({ smtpUtf8: true, eightBit: true });
    expect(split(built).head).toContain('To: =?UTF-8?B?SsO2cmc=?= <jörg@xn--mnchen-3ya.de>\r\n');
    expect((await parse(built)).to).toEqual([{ name: 'Jörg', address: 'jörg@xn--mnchen-3ya.de' }]);
    expect(wireFaults(built)).toEqual([]);
  });

  it.each(['from', 'replyTo'] as const)('needs SMTPUTF8 for a non-ASCII %s address', (field) => {
    const built = build(email({ [field]: address('用户@example.com') }));
    expect(built).toMatchObject({ smtpUtf8: true, eightBit: true });
    expect(wireFaults(built)).toEqual([]);
  });

  it('needs no SMTP extension for a non-ASCII name or domain', () => {
    const built = build(email({ from: address('Jörg <a@münchen.de>'), subject: 'Größe', text: 'Größe' }));
    expect(built).toMatchObject({ smtpUtf8: false, eightBit: false });
    expect(wireFaults(built)).toEqual([]);
  });

  it('has the same bytes each time it is built', () => {
    const content = email({ subject: 'Grüße', html: '<p>für dich</p>', text: 'für dich' });
    const first = build(content).data;
    expect(build(structuredClone(content)).data.equals(first)).toBe(true);
    const other = build({ ...content, text: 'für euch' });
    expect(split(other).head).not.toBe(first.toString('latin1').slice(0, split(other).head.length));
  });

  it('differs between recipients only in their own fields', () => {
    const prepared = prepareContent(email({ html: '<p>x</p>' }));
    const texts = ['one@example.org', 'Two <two@example.org>'].map((to) => {
      const built = buildMessage(prepared, { ...recipient, to: address(to) }, []);
      if (built instanceof Promise) throw new Error('built at once');
      return built.data.toString();
    });
    expect(texts[0]?.replace('To: one@example.org', '')).toBe(
      texts[1]?.replace('To: Two <two@example.org>', ''),
    );
  });

  it('cannot be cut short by content with a boundary', async () => {
    const first = build(email({ html: '<p>x</p>' }));
    const boundary = /boundary="([^"]+)"/.exec(split(first).head)?.[1] ?? '';
    const text = `before\n--${boundary}\nbetween\n--${boundary}--\nafter`;
    const parsed = await parse(build(email({ text, html: '<p>x</p>' })));
    expect(parsed.text?.trimEnd()).toBe(text);
    expect(parsed.html?.trimEnd()).toBe('<p>x</p>');
  });
});

describe('header injection', () => {
  const evil = (changes: Partial<EmailAddress>): EmailAddress => ({
    ...address('a@example.org'),
    ...changes,
  });

  it.each(['\r\n', '\n', '\r', 'x\r\nBcc: a@b.c', 'x\n\nbody'])('by %j is refused', (text) => {
    for (const content of [
      email({ subject: text }),
      email({ from: evil({ name: text }) }),
      email({ replyTo: evil({ name: text }) }),
      email({ from: evil({ address: `a${text}@b.c` }) }),
      email({ headers: { 'X-Test': text } }),
      email({ headers: { [`X-Test: 1${text}`]: '1' } }),
      email({ feedbackId: text }),
    ]) {
      expect(() => prepareContent(content)).toThrow(InvalidMessageError);
    }
    for (const changes of [
      { to: evil({ name: text }) },
      { to: evil({ address: `a${text}@b.c` }) },
      { messageId: `a${text}@b.c` },
    ]) {
      expect(() => build(email(), changes)).toThrow(InvalidMessageError);
    }
  });

  it.each([
    'From',
    'to',
    'CC',
    'Bcc',
    'Sender',
    'Reply-To',
    'Subject',
    'Date',
    'message-id',
    'Return-Path',
    'Received',
    'DKIM-Signature',
    'MIME-Version',
    'Content-Type',
    'content-anything',
    'Feedback-ID',
  ])('by a header named %s is refused', (name) => {
    expect(() => prepareContent(email({ headers: { [name]: 'x' } }))).toThrow(InvalidMessageError);
  });

  it.each(['', 'X Test', 'X:Test', 'X-Tést', 'x'.repeat(77)])('by the header name %j is refused', (name) => {
    expect(() => prepareContent(email({ headers: { [name]: 'x' } }))).toThrow(InvalidMessageError);
  });

  it.each(['', 'a b@c', 'a@b>', '<a@b', 'é@b', 'a'.repeat(901)])(
    'by the Message-ID %j is refused',
    (messageId) => {
      expect(() => build(email(), { messageId })).toThrow(InvalidMessageError);
    },
  );

  it('by an invalid date is refused', () => {
    expect(() => build(email(), { date: new Date(Number.NaN) })).toThrow(InvalidMessageError);
  });

  it('by two headers whose names differ only in case is impossible: the last one wins', () => {
    const { head } = split(build(email({ headers: { 'X-A': 'first', 'x-a': 'second' } })));
    expect(head.match(/^x-a:.*$/gim)).toEqual(['x-a: second']);
  });
});
