// The report reader never throws on any bytes, and accepts no report without a valid MAC.
import { expect, it } from '@jest/globals';
import { reportFacts } from '../../../../src/delivery/wire/inbound/report-facts.ts';
import { findRecipient, type InboundRecipient } from '../../../../src/delivery/wire/inbound/recipients.ts';
import { readReport } from '../../../../src/delivery/wire/inbound/report.ts';
import { messageReference } from '../../../../src/delivery/terms/addresses/reference.ts';
import { returnPathAddress } from '../../../../src/delivery/terms/addresses/return-path.ts';
import { testMailKeys } from '../../../support/inbound.ts';
import {
  attachedComplaint,
  deliveryStatus,
  eximBounce,
  exchangeBounce,
  feedbackReport,
  qmailBounce,
  sendmailBounce,
} from '../../../support/reports.ts';

const ROUNDS = 1_500;
const message = { accountId: 7, messageId: 123_456_789 };
/** Created with keys that are not ours. */
const forged = {
  messageId: `${messageReference(Buffer.alloc(32, 9), message)}@mail.test`,
  returnPath: returnPathAddress(Buffer.alloc(32, 9), message, 'mail.test'),
  to: 'ann@example.com',
};
const samples = [
  deliveryStatus(forged),
  deliveryStatus(forged, { perMessage: `Original-Envelope-Id: ${forged.messageId}\n` }),
  feedbackReport(forged),
  attachedComplaint(forged),
  qmailBounce(forged, 'Sorry, no mailbox here by that name. (#5.1.1)'),
  eximBounce(forged, 'Unrouteable address'),
  exchangeBounce(forged, '<mx.example.com #5.1.1>'),
  sendmailBounce(forged, '550 5.1.1 User unknown'),
].map((text) => Buffer.from(text));

/** A generator with a seed, so that a failure can be repeated (mulberry32). */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Changes, removes, repeats and mixes bytes of the samples. */
function mutate(random: (below: number) => number): Buffer {
  const pick = () => samples[random(samples.length)] ?? Buffer.alloc(0);
  let mail = Buffer.from(pick());
  for (let change = random(8); change >= 0; change -= 1) {
    const at = random(mail.length);
    const length = random(200);
    const [before, cut, after] = [
      mail.subarray(0, at),
      mail.subarray(at, at + length),
      mail.subarray(at + length),
    ];
    const noise = Buffer.from(Array.from({ length: random(20) }, () => random(256)));
    const parts = [
      [before, noise, after],
      [before, cut, cut, cut, after],
      [before, after],
      [before, pick(), after],
      [before, Buffer.from(['\r\n', '\n\n', ':', '--arf\r\n', '<@', '\0'][random(6)] ?? ''), cut, after],
    ][random(5)] as Buffer[];
    mail = Buffer.concat(parts).subarray(0, 200_000);
    if (mail.length === 0) mail = Buffer.from(' ');
  }
  return mail;
}

it('reads any bytes without an error, and accepts nothing without a MAC', async () => {
  const random = randomNumbers(20_260_302);
  const mailboxes: InboundRecipient[] = (['fbl', 'abuse', 'postmaster'] as const).map((name) => ({
    kind: 'mailbox',
    name,
  }));
  let reports = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const head = mutate(random);
    const report = await readReport({ head, envelopeFrom: '', feedbackLoop: round % 2 === 0 });
    if (report.kind !== 'none') reports += 1;
    expect(reportFacts(report, mailboxes, testMailKeys, new Date())).toEqual([]);
    const [fact] = reportFacts(report, [{ kind: 'return_path', message }], testMailKeys, new Date());
    // A mail to a genuine return path is about its message, whatever it claims.
    if (fact) expect(fact).toMatchObject(message);
  }
  // Otherwise the mails are too broken to prove anything.
  expect(reports).toBeGreaterThan(ROUNDS / 10);
}, 120_000);

it('finds no recipient in any text that is not one of our addresses', () => {
  const random = randomNumbers(7);
  const genuine = returnPathAddress(Buffer.alloc(32, 1), message, 'mail.test');
  for (let round = 0; round < ROUNDS; round += 1) {
    const letters = [...genuine];
    letters[random(letters.length - '@mail.test'.length)] = String.fromCharCode(random(128));
    const address = letters.join('');
    const found = findRecipient(address, 'mail.test', testMailKeys);
    const isSame = address.toLowerCase() === genuine;
    expect([address, found === null]).toEqual([address, !isSame]);
  }
});
