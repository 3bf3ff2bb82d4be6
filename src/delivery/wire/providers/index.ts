import { captureEmail, captureSms } from './capture/provider.ts';
import type { ProviderEntry, ProviderKind } from '../adapters/kind.ts';
import { mailgun } from './mailgun/provider.ts';
import { postmark } from './postmark/provider.ts';
import { resend } from './resend/provider.ts';
import { sendgrid } from './sendgrid/provider.ts';
import { ses } from './ses/provider.ts';
import { smtp } from './smtp/provider.ts';
import { twilio } from './twilio/provider.ts';
import { vonage } from './vonage/provider.ts';

/** Every provider. A new one is a folder beside this file and a line here, see `docs/adding-a-provider.md`. */
export const providers: readonly (ProviderEntry | ProviderKind)[] = [
  captureEmail,
  captureSms,
  smtp,
  ses,
  sendgrid,
  postmark,
  mailgun,
  resend,
  twilio,
  vonage,
];

/** The providers that operators can add. The others can only be chosen by a setting. */
export const providerKinds: readonly ProviderKind[] = providers.filter((provider) => 'settings' in provider);

/** The kinds of providers that recognize a message that they already have. */
export const repeatableKinds: readonly string[] = providerKinds
  .filter(({ repeatable }) => repeatable)
  .map(({ name }) => name);

/** @returns undefined if there is no such kind */
export function providerKind(name: string): ProviderKind | undefined {
  return providerKinds.find((kind) => kind.name === name);
}
