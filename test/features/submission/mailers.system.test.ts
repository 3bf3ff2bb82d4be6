// What smtplib, nodemailer, swaks and Postfix as a smarthost submit arrives with the same texts, files and recipients.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createTransport } from 'nodemailer';
import { authority } from '../../support/smtp/certificates.ts';
import { expectEqualMails, type SentMail } from '../../support/mailers/equal.ts';
import {
  argumentsOf,
  contentFolder,
  MAILER_KEY,
  type MailKind,
  mailerContent,
  mailKinds,
  readRecording,
  smtplibProgram,
} from '../../support/mailers/mailers.ts';
import { startPostfix } from '../../support/mailers/postfix.ts';
import { type Recorder, startRecorder } from '../../support/mailers/recorder.ts';
import { type MailerStage, openMailerStage, submittedIn } from '../../support/mailers/stage.ts';
import { testsThatNeed } from '../../support/tests-that-need.ts';

const run = promisify(execFile);
const { from, to, cc, bcc, subject, text, html, pdfName } = mailerContent;
const recipients = [...to, ...cc].map(({ address }) => address).concat(bcc);

let stage: MailerStage;
let recorder: Recorder;
beforeAll(async () => {
  stage = await openMailerStage();
  recorder = await startRecorder(stage.port);
});
afterAll(async () => {
  recorder.close();
  await stage.close();
});

/** @param send sends a mail of a kind to the port of the recorder */
async function expectMailsOf(send: (kind: MailKind) => Promise<unknown>): Promise<void> {
  const sent: Partial<Record<MailKind, SentMail>> = {};
  for (const kind of mailKinds) {
    await send(kind);
    const arrived = await stage.arrived(recipients.length);
    const { mail: given, recipients: taken } = submittedIn(recorder.take().flat());
    sent[kind] = { given, arrived };
    expect(taken.toSorted()).toEqual(recipients.toSorted());
    expect(Object.keys(arrived).toSorted()).toEqual(recipients.toSorted());
  }
  await expectEqualMails(sent as Record<MailKind, SentMail>);
}

const image = { filename: 'logo.png', path: `${contentFolder}/logo.png`, cid: 'logo@shop.example' };
const pdf = { filename: pdfName, path: `${contentFolder}/invoice.pdf` };
const invitation = { method: 'REQUEST', path: `${contentFolder}/invitation.ics` };
const parts = {
  text: {},
  image: { html, attachments: [image] },
  pdf: { attachments: [pdf] },
  invitation: { icalEvent: invitation },
};
const mailOf = (kind: MailKind) => ({ from, to, cc, bcc, subject, text, ...parts[kind] });

it('smtplib', () =>
  expectMailsOf((kind) => {
    const [command = '', ...args] = argumentsOf(smtplibProgram, recorder.port, kind);
    return run(command, args);
  }));

it('nodemailer', async () => {
  const transport = createTransport({
    ...{ host: 'localhost', port: recorder.port, requireTLS: true, tls: { ca: authority } },
    auth: { user: 'carillon', pass: MAILER_KEY },
  });
  await expectMailsOf((kind) => transport.sendMail(mailOf(kind)));
});

testsThatNeed('swaks').describe('swaks', () => {
  // It writes no texts beside each other, and no images: it sends what another program wrote.
  it('with STARTTLS and LOGIN', () =>
    expectMailsOf(async (kind) => {
      const { mail } = submittedIn(readRecording('phpmailer')[kind]);
      const server = ['--server', 'localhost', '--port', String(recorder.port), '--tls'];
      const login = ['--auth', 'LOGIN', '--auth-user', 'carillon', '--auth-password', MAILER_KEY];
      const envelope = ['--from', from.address, '--to', recipients.join(',')];
      const running = run('swaks', [...server, ...login, ...envelope, '--data', '-']);
      running.child.stdin?.end(mail.replaceAll('\r\n', '\n'));
      await running;
    }));
});

testsThatNeed('postfix').describe('Postfix', () => {
  it('as a smarthost', async () => {
    const postfix = await startPostfix(recorder.port);
    const transport = createTransport({ host: '127.0.0.1', port: postfix.port, ignoreTLS: true });
    try {
      await expectMailsOf((kind) => transport.sendMail(mailOf(kind)));
    } finally {
      await postfix.close();
    }
  });
});
