import { MESSAGE_LIFETIME, MESSAGE_LIFETIME_HOURS } from '../../terms/message.ts';
import type { Limit } from './limit.ts';
import { capSql, moneyColumns, moneyFigures, moneyQuota, NEXT_MONTH, reachedSql, spentSql } from './money.ts';
import { monthlyEmailSettings } from '../money/prices.ts';

/**
 * What an account may spend in a month: messages with their prices, and validations. Emails within the monthly
 * allowance cost nothing and pass. POST /messages refuses messages beyond the cap; messages of flows and campaigns
 * wait.
 */
export const spendCap = {
  name: 'spend_cap',
  title: "the account's spending in a calendar month (UTC)",
  plain: 'never holds',
  settings: monthlyEmailSettings,
  figures: (setting) => moneyFigures({ limit: capSql, used: spentSql }, setting),
  queueColumns: moneyColumns,
  quota: moneyQuota('spend_cap'),
  // Validations and messages that end unsent return part of the cap within the month without releasing held messages.
  claim: { effect: 'hold', until: NEXT_MONTH, recheck: `interval '5 minutes'` },
  refusal: {
    code: 'spend_cap_reached',
    message: 'the monthly spend cap is reached; raise it, or wait for the next month (UTC)',
  },
  status: {
    reason: 'spend_cap_reached',
    state: 'limited',
    reached: reachedSql('spend_cap'),
    remediation: 'The monthly spend cap is reached; raise it, or wait for the next month (UTC).',
  },
} as const satisfies Limit;

/** The end of a message that the spend cap has held for its whole lifetime. */
export const spendCapEnd = {
  name: 'spend_cap_end',
  title: `the spend cap has held the message until it was ${MESSAGE_LIFETIME_HOURS} hours old`,
  plain: 'decided',
  condition: {
    reads: 'message',
    sql: `(q.queued_at < now() - ${MESSAGE_LIFETIME} and m.hold ->> 'reason' = 'spend_cap')`,
  },
  handOver: { effect: 'fail', code: 'spend_cap_reached', message: 'the monthly spend cap was reached' },
} as const satisfies Limit;
