/** What parts of an account's mail store. Each statement finds its rows by an index of its own. */

/** SQL about `m`, a conversation message: it is in quarantine, and may be deleted to make room. */
export const IN_QUARANTINE = `m.arrived_at is null and m.quarantine is not null and m.quarantine ->> 'released_at' is null`;

const sumOf = (condition: string) => `
  (select coalesce(sum(coalesce(m.stored_bytes, m.raw_size)), 0)::bigint from conversation_messages m
   where m.account_id = s.account_id and ${condition})`;

/** SQL: bytes that the mail in quarantine of the account `s.account_id` stores. */
export const QUARANTINED_BYTES = sumOf(IN_QUARANTINE);

/** SQL: bytes that its mail outside of quarantine stores that has no proof of its sender. */
export const UNPROVED_BYTES = sumOf(`m.direction = 'inbound' and not m.sender_trusted
   and (m.quarantine is null or m.quarantine ->> 'released_at' is not null)`);
