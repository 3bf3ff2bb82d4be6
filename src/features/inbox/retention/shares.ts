/** What parts of an account's mail store. Each statement finds its rows by an index of its own. */

const inQuarantine = (message: string) =>
  `${message}.arrived_at is null and ${message}.quarantine is not null and ${message}.quarantine ->> 'released_at' is null`;

/** SQL about `m`, a conversation message: it is in quarantine, and may be deleted to make room. */
export const IN_QUARANTINE = inQuarantine('m');

/**
 * SQL about `m`, a mail in quarantine: deleting it makes room, at the latest together with other mail in quarantine. It
 * does not if mail elsewhere, or mail that waits to be read, has the same file.
 */
export const MAKES_ROOM = `not exists (select from conversation_messages o
    where o.raw_key = m.raw_key and o.id <> m.id and not (${inQuarantine('o')}))
  and not exists (select from inbound_mails w where w.raw_key = m.raw_key)`;

const STORED = 'coalesce(m.stored_bytes, m.raw_size)';

const sumOf = (condition: string) => `
  (select coalesce(sum(${STORED}), 0)::bigint from conversation_messages m
   where m.account_id = s.account_id and ${condition})`;

/**
 * SQL: bytes that the mail in quarantine of the account `s.account_id` stores. Files that several mails share count once,
 * and not at all if one of these is elsewhere.
 */
export const QUARANTINED_BYTES = `(${sumOf(IN_QUARANTINE)}
  - (select coalesce(sum(${STORED}), 0)::bigint
     from inbox_shared_files f join conversation_messages m on m.raw_key = f.key
     where f.account_id = s.account_id and ${IN_QUARANTINE} and exists (select from conversation_messages o
       where o.raw_key = f.key and o.id <> m.id and (o.id < m.id or not (${inQuarantine('o')})))))`;

/**
 * SQL: bytes that its mail outside of quarantine stores that has no proof of its sender. Files that several mails share
 * count for each: strangers must not fill more by sharing.
 */
export const UNPROVED_BYTES = sumOf(`m.direction = 'inbound' and not m.sender_trusted
   and (m.quarantine is null or m.quarantine ->> 'released_at' is not null)`);
