import type { ProviderKind } from './kind.ts';
import { mailgun } from './mailgun.ts';
import { postmark } from './postmark.ts';
import { resend } from './resend.ts';
import { sendgrid } from './sendgrid.ts';
import { ses } from './ses.ts';
import { smtpKind } from './smtp-kind.ts';
import { twilio } from './twilio.ts';
import { vonage } from './vonage.ts';

/** Every kind of provider that operators can add. A new one is one file in this folder and one line here. */
export const providerKinds: readonly ProviderKind[] = [
  smtpKind,
  ses,
  sendgrid,
  postmark,
  mailgun,
  resend,
  twilio,
  vonage,
];

/** @returns undefined if there is no such kind */
export function providerKind(name: string): ProviderKind | undefined {
  return providerKinds.find((kind) => kind.name === name);
}
