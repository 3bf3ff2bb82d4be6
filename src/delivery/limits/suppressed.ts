import type { Limit } from './limit.ts';

/** A recipient that the account must not write to. */
export const suppressed = {
  name: 'suppressed',
  title: "the recipient's address is suppressed",
  condition: {
    reads: 'message',
    sql: `exists (
      select 1 from suppressions s
      where s.account_id = m.account_id and s.address_key = m.to_key and s.released_at is null
        and (s.expires_at is null or s.expires_at > now()))`,
  },
  handOver: { effect: 'fail', code: 'suppressed', message: 'the address is suppressed' },
} as const satisfies Limit;
