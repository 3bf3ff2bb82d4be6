// SMTP envelopes use only parameters that the server offers, and refuse addresses that could inject a command.
import { describe, expect, it } from '@jest/globals';
import { SmtpInputError } from '../../../../src/delivery/wire/smtp/connection-error.ts';
import type { SmtpCapabilities, SmtpSubmission } from '../../../../src/delivery/wire/smtp/contract.ts';
import { createEnvelope } from '../../../../src/delivery/wire/smtp/envelope.ts';
import { submission } from '../../../support/smtp/conversation.ts';

const all: SmtpCapabilities = { pipelining: true, size: 1000, smtpUtf8: true, eightBitMime: true, dsn: true };
const nothing: SmtpCapabilities = {
  pipelining: false,
  size: null,
  smtpUtf8: false,
  eightBitMime: false,
  dsn: false,
};

function commands(changes: Partial<SmtpSubmission>, offered = all): unknown[] {
  const envelope = createEnvelope(submission(1, changes), offered);
  return 'kind' in envelope ? [envelope] : [envelope.mail, envelope.rcpt];
}

describe('an envelope', () => {
  const data = Buffer.from('a\r\n.b\r\n');

  it('has only parameters that are needed and offered', () => {
    expect(commands({ data }, nothing)).toEqual([
      'MAIL FROM:<bounce+1@example.com>\r\n',
      'RCPT TO:<recipient1@example.net>\r\n',
    ]);
    expect(commands({ data })[0]).toBe('MAIL FROM:<bounce+1@example.com> SIZE=7\r\n');
    expect(commands({ data, eightBit: true })[0]).toBe(
      'MAIL FROM:<bounce+1@example.com> SIZE=7 BODY=8BITMIME\r\n',
    );
    expect(commands({ data, eightBit: true, smtpUtf8: true, to: 'käse@example.net' })).toEqual([
      'MAIL FROM:<bounce+1@example.com> SIZE=7 BODY=8BITMIME SMTPUTF8\r\n',
      'RCPT TO:<käse@example.net>\r\n',
    ]);
  });

  it('asks for reports, with the header only, if the server offers them', () => {
    const failure = { kind: 'failure', envelopeId: '1-2-Ab_-' } as const;
    expect(commands({ data, reports: failure })).toEqual([
      'MAIL FROM:<bounce+1@example.com> SIZE=7 RET=HDRS ENVID=1-2-Ab_-\r\n',
      'RCPT TO:<recipient1@example.net> NOTIFY=FAILURE\r\n',
    ]);
    expect(commands({ data, reports: { ...failure, kind: 'success' } })[1]).toBe(
      'RCPT TO:<recipient1@example.net> NOTIFY=SUCCESS,FAILURE\r\n',
    );
    const plain = ['MAIL FROM:<bounce+1@example.com> SIZE=7\r\n', 'RCPT TO:<recipient1@example.net>\r\n'];
    expect(commands({ data, reports: { ...failure, kind: 'off' } })).toEqual(plain);
    expect(commands({ data, reports: failure }, { ...all, dsn: false })).toEqual(plain);
  });

  it.each(['a b', 'a+b', 'a=b', 'ä', 'a\r\nRSET', ''])('omits the envelope id %j', (envelopeId) => {
    expect(commands({ data, reports: { kind: 'failure', envelopeId } })[0]).toBe(
      'MAIL FROM:<bounce+1@example.com> SIZE=7 RET=HDRS\r\n',
    );
  });

  it('has a null return path if the sender is empty', () => {
    expect(commands({ from: '', data }, nothing)[0]).toBe('MAIL FROM:<>\r\n');
  });

  it.each([
    ['smtputf8', { smtpUtf8: true, eightBit: true }, { ...all, smtpUtf8: false }],
    ['8bitmime', { smtpUtf8: true }, { ...all, eightBitMime: false }],
    ['8bitmime', { eightBit: true }, { ...all, eightBitMime: false }],
    ['size', { data: Buffer.alloc(1001, 'a') }, all],
  ])('is unsupported without %s', (capability, changes, offered) => {
    expect(commands(changes, offered)).toEqual([
      { kind: 'unsupported', capability, message: expect.any(String) },
    ]);
  });

  it.each([
    [1000, { ...all, size: 1000 }],
    [100_000, { ...all, size: 0 }],
  ])('of %d bytes is within the limit', (bytes, offered) => {
    expect(commands({ data: Buffer.alloc(bytes, 'a') }, offered)[0]).toContain(` SIZE=${bytes}`);
  });

  it.each([
    'a+b.c@example.net',
    "o'neil!#$%&*/=?^_`{|}~@example.net",
    '"a b>c\\"d"@example.net',
    'a@[192.0.2.1]',
  ])('may have the recipient %s', (to) => {
    expect(commands({ to })[1]).toBe(`RCPT TO:<${to}>\r\n`);
  });

  it.each([
    'a@example.net\r\nRCPT TO:<b@example.net>',
    'a@example.net\n',
    'a\r@example.net',
    '"a\r\nb"@example.net',
    '"a\\\nb"@example.net',
    'a\0@example.net',
    'a@example.net> SIZE=1',
    'a@example.net>',
    '<a@example.net',
    'a b@example.net',
    '"a@example.net',
    '"a\\"@example.net',
    'a\u0085b@example.net',
    'a\u2028b@example.net',
    `${'a'.repeat(250)}@example.net`,
    `${'ä'.repeat(125)}@example.net`,
  ])('is refused with the address %j', (address) => {
    const notSent = [{ kind: 'not_sent', error: expect.any(SmtpInputError) }];
    expect(commands({ to: address, smtpUtf8: true })).toEqual(notSent);
    expect(commands({ from: address, smtpUtf8: true })).toEqual(notSent);
  });

  it.each([
    ['no recipient', { to: '' }],
    ['an address beyond ASCII without SMTPUTF8', { to: 'käse@example.net' }],
    ['a bare LF in the message', { data: Buffer.from('a\n.\nb\r\n') }],
    ['a bare CR in the message', { data: Buffer.from('a\r.\rb\r\n') }],
  ])('is refused with %s', (_, changes) => {
    expect(commands(changes)).toEqual([{ kind: 'not_sent', error: expect.any(SmtpInputError) }]);
  });
});
