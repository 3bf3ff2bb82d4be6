/** Mails to the owners of an account about its money. */
import type { Notice } from '../system-mail/service.ts';

const CLOSING = 'See the balance and the limits in your account, or ask your operator.';

/** @param part percentage of the cap */
export function spendCapNotice(part: 80 | 100, capCents: number, currency: string): Notice {
  const cap = `${(capCents / 100).toFixed(2)} ${currency}`;
  if (part === 80) {
    return {
      subject: 'Your account has used 80% of its monthly spend cap',
      paragraphs: [`This month, your account has spent more than 80% of its cap of ${cap}.`, CLOSING],
    };
  }
  return {
    subject: 'Your account has reached its monthly spend cap',
    paragraphs: [
      `This month, your account has reached its spend cap of ${cap}. Messages and validations with a price are refused ` +
        'or wait until the cap is raised or a new month begins.',
      CLOSING,
    ],
  };
}

export const noFundsNotice: Notice = {
  subject: 'Your account has no funds left',
  paragraphs: [
    'The balance of your account is too low for another message. Messages and validations with a price are refused or ' +
      'wait until money is added to the wallet.',
    CLOSING,
  ],
};

/** @param reason a code, such as `card_declined` */
export function topUpsOffNotice(reason: string): Notice {
  const disputed = reason === 'disputed';
  return {
    subject: 'Automatic top-ups of your account are off',
    paragraphs: [
      disputed
        ? 'A payment to the wallet of your account was disputed, so automatic top-ups were turned off.'
        : `Three payments in a row to the wallet of your account have failed (${reason}), so automatic top-ups were turned off.`,
      'Ask your operator to turn automatic top-ups on again once the payment method works.',
    ],
  };
}
