import { suppressedSql } from '../consent/suppressions.ts';
import type { Limit } from './limit.ts';

/**
 * A suppressed recipient. The statement may have begun before the suppression was committed and waited for its locks
 * since. If the API has just suppressed an address of the account, each message is therefore checked once more as of
 * now; see `delivery/ledger/consent/recipient-fence.ts`. Without `coalesce`, the function would be called for each message of
 * an account whose recipients have never changed: `null and …` may be false.
 */
export const suppressed = {
  name: 'suppressed',
  title: "the recipient's address is suppressed",
  plain: 'decided',
  settings: (config) => ({ suppress_plus_addresses: config.SUPPRESS_PLUS_ADDRESSES ? 1 : 0 }),
  condition: {
    reads: 'message',
    sql: `(${suppressedSql({ account: 'm.account_id', key: 'm.to_key', plusAddresses: 'settings.plus_addresses' })}
      or (coalesce(a.recipients_changed_at > now() - interval '10 seconds', false)
        and is_suppressed(m.account_id, m.to_key, settings.plus_addresses)))`,
  },
  handOver: { effect: 'fail', code: 'suppressed', message: 'the address is suppressed' },
} as const satisfies Limit;
