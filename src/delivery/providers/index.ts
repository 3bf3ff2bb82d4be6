import type { ProviderKind } from './kind.ts';
import { mailgun } from './mailgun/provider.ts';
import { postmark } from './postmark/provider.ts';
import { resend } from './resend/provider.ts';
import { sendgrid } from './sendgrid/provider.ts';
import { ses } from './ses/provider.ts';
import { smtpKind } from './smtp/provider.ts';
import { twilio } from './twilio/provider.ts';
import { vonage } from './vonage/provider.ts';

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
