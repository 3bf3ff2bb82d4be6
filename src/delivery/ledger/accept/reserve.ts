/** Reserves money for messages as they are written: each one that costs something takes its price from the month of its account. */
import { paidByMessageSql, paidBySegmentSql } from '../../terms/units.ts';
import { AppError, invalid } from '../../../errors.ts';
import { defineFunction } from '../../../platform/db/sql/define.ts';
import { settingIn } from '../../terms/sql-parts.ts';
import { capSql } from '../limits/money.ts';
import { spendCap } from '../limits/spend-cap.ts';
import { wallet } from '../limits/wallet.ts';
import { emailPriceSql, monthlyEmailsSql, paysSql, smsPriceSql } from '../money/prices.ts';
import { balanceSql } from '../money/wallet.ts';

export const reserveMessages = defineFunction(import.meta.url, './reserve_messages.sql', {
  table: settingIn('settings'),
  regions: {
    email_price: () => emailPriceSql('a'),
    monthly_emails: (setting) => monthlyEmailsSql('a', setting),
    cap: () => capSql,
    pays: () => paysSql('a'),
    balance: () => balanceSql('i'),
    text_price: () => smsPriceSql('a', 'i.number'),
    paid_by_segment: () => paidBySegmentSql('i.channel'),
    paid_by_message: () => paidByMessageSql('channels[n]'),
    first_by_message: () => paidByMessageSql('channels[1]'),
  },
});

const refusal = ({ code, message }: { code: AppError['code']; message: string }) =>
  new AppError(code, message);

/** The errors of messages whose prices cannot be reserved, by the reason that `reserve_messages` returns. */
const refusals: Readonly<Record<string, () => AppError>> = {
  no_price: () => invalid({ to: ['is in a country that the account has no price for'] }),
  [spendCap.refusal.code]: () => refusal(spendCap.refusal),
  [wallet.refusal.code]: () => refusal(wallet.refusal),
};

/** The error of a message whose price is not reserved; null: the reason is not about money. */
export const refusalOf = (reason: string): AppError | null => refusals[reason]?.() ?? null;
