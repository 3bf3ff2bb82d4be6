// The reason of a provider fault contains the codes of the server's reply, and never its text.
import { expect, it } from '@jest/globals';
import { smtpVerdict } from '../../../../src/delivery/wire/providers/smtp/verdict.ts';
import { refusal } from '../../../../src/delivery/wire/smtp/dialogue.ts';

const TEXT = 'user ann@example.com, password hunter2';

it.each([
  [421, '4.3.2', '421 4.3.2'],
  [554, null, '554'],
])('keeps the server’s text out of the reason of a fault (%d %s)', (code, enhanced, codes) => {
  const reply = { code, enhanced, text: TEXT };
  const inDialogue = smtpVerdict({ kind: 'not_sent', error: refusal('auth', reply) });
  expect(inDialogue).toEqual({ kind: 'fault', reason: `auth refused: ${codes}` });
  const toMail = smtpVerdict({ kind: 'refused', stage: 'mail', reply, connectionLost: false });
  expect(toMail).toEqual({ kind: 'fault', reason: `mail refused: ${codes}` });
});
