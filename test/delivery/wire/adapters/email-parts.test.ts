// Providers that build the message themselves get the same headers and text as the complete message.
import { describe, expect, it } from '@jest/globals';
import { parseEmailAddress } from '../../../../src/delivery/terms/addresses/email.ts';
import { headersOf, smtpUtf8Refusal, textOf } from '../../../../src/delivery/wire/adapters/email-parts.ts';
import type { OutgoingEmail } from '../../../../src/delivery/wire/adapters/port.ts';
import { outgoingEmail } from '../../../support/outgoing.ts';

function email(content: Partial<OutgoingEmail['content']>, smtpUtf8 = false): OutgoingEmail {
  const plain = outgoingEmail({ reference: '1-a-xyz' });
  return { ...plain, content: { ...plain.content, ...content }, built: { ...plain.built, smtpUtf8 } };
}

describe('the headers for a service that builds the message', () => {
  const headers = (given: Record<string, string>) => headersOf(email({ headers: given }), 'mail.example.com');

  it('end with the Message-ID of the complete message', () => {
    expect(headersOf(email({ feedbackId: '1:2:x:carillon' }), 'mail.example.com')).toEqual({
      'Feedback-ID': '1:2:x:carillon',
      'Message-ID': '<1-a-xyz@mail.example.com>',
    });
  });

  it('are ASCII on one line, as in the complete message', () => {
    const long = Array.from({ length: 40 }, (_, index) => `https://example.com/${index}`).join(' ');
    const given = headers({ 'X-Note': 'Grüße aus Köln', 'List-Help': long, 'X-Empty': '  ' });
    expect(given['X-Note']).toMatch(/^=\?utf-8\?[QB]\?[!-~]+\?=( =\?utf-8\?[QB]\?[!-~]+\?=| [!-~]+)*$/i);
    expect(given['List-Help']).toBe(long);
    expect(given).not.toHaveProperty('X-Empty');
  });

  it('contain only one of two names that differ in case', () => {
    expect(headers({ 'X-Note': 'a', 'x-note': 'b' })).toMatchObject({ 'x-note': 'b' });
    expect(headers({ 'X-Note': 'a', 'x-note': 'b' })).not.toHaveProperty('X-Note');
  });
});

describe('the text for a service that builds the message', () => {
  it('is the given one, or is generated from the HTML', () => {
    expect(textOf(email({ html: '<p>a</p>', text: 'b' }).content)).toBe('b');
    expect(textOf(email({ html: '<p>a</p>', text: '' }).content)).toBe('');
    expect(textOf(email({ html: '<p>a</p>', text: null }).content)).toBe('a');
    expect(textOf(email({ html: null, text: null }).content)).toBe('');
  });

  it('is empty if its conversion would delay other mail', () => {
    expect(textOf(email({ html: `<p>${'a'.repeat(100_000)}</p>`, text: null }).content)).toBe('');
  });
});

describe('an address that needs SMTPUTF8', () => {
  it('is refused with the code of its role', () => {
    const from = parseEmailAddress('jörg@example.com');
    if ('error' in from) throw new Error(from.error);
    expect(smtpUtf8Refusal(email({}), 'Example')).toBeNull();
    expect(smtpUtf8Refusal(email({}, true), 'Example')).toMatchObject({ code: 'invalid_recipient' });
    expect(smtpUtf8Refusal(email({ from }, true), 'Example')).toMatchObject({ code: 'sender_rejected' });
    expect(smtpUtf8Refusal(email({ replyTo: from }, true), 'Example')).toMatchObject({
      code: 'sender_rejected',
    });
  });
});
