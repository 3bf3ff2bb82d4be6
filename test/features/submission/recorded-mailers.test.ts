// What PHPMailer, Symfony Mailer, Ruby Mail and Django submit arrives with the same texts, files and recipients.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type MailKind,
  mailKinds,
  readRecording,
  type RecordedProgram,
  recordedPrograms,
} from '../../support/mailers/mailers.ts';
import { expectEqualMails } from '../../support/mailers/equal.ts';
import { type MailerStage, openMailerStage, replay, submittedIn } from '../../support/mailers/stage.ts';

let stage: MailerStage;
beforeAll(async () => {
  stage = await openMailerStage();
});
afterAll(() => stage.close());

describe.each(Object.keys(recordedPrograms) as RecordedProgram[])('%s', (program) => {
  it('submits text, an inline image, a PDF and an invitation, which arrive equal', async () => {
    const recording = readRecording(program);
    const sent: Partial<Record<MailKind, { given: string; arrived: Record<string, string> }>> = {};
    for (const kind of mailKinds) {
      const { mail, recipients } = submittedIn(recording[kind]);
      await replay(stage.port, recording[kind]);
      sent[kind] = { given: mail, arrived: await stage.arrived(recipients.length) };
      expect(Object.keys(sent[kind].arrived).toSorted()).toEqual(recipients.toSorted());
    }
    await expectEqualMails(sent as Required<typeof sent>);
  });
});
