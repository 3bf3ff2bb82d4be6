import type { Channel } from '../../delivery/terms/message.ts';
import { type SuppressionReason, suppressionUpsertSql } from '../../delivery/ledger/consent/suppressions.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { ImportRecord } from './model.ts';
import type { ImportRow } from './rows.ts';

/** An address to suppress. */
export interface SuppressionGiven {
  channel: Channel;
  key: string;
  reason: SuppressionReason;
  diagnostic: string | null;
  expires_at: string | null;
}

/** Suppresses addresses for the account. @returns those that change, with whether each is new */
export async function suppress(
  trx: Queryable,
  { account_id: accountId }: Pick<ImportRecord, 'account_id'>,
  given: readonly SuppressionGiven[],
): Promise<Map<string, boolean>> {
  const { rows } = await trx.query<{ address_key: string; is_new: boolean }>(
    `${suppressionUpsertSql(`
      select $1::bigint as account_id, i.key as address_key, i.channel, i.reason, null::text as source_provider,
        i.diagnostic, i.expires_at
      from json_to_recordset($2) as i (channel text, key text, reason text, diagnostic text, expires_at timestamptz)`)}
     returning s.address_key, s.created_at = now() as is_new`,
    [accountId, JSON.stringify(given)],
  );
  return new Map(rows.map((row) => [row.address_key, row.is_new]));
}

/**
 * Suppresses the addresses of the rows, both of them if a row has two. A row with a suppression that has ended changes
 * nothing.
 * @returns the outcome of each row, in their order: created or updated if one of its addresses changes
 */
export async function importSuppressions(
  trx: Queryable,
  record: ImportRecord,
  rows: readonly ImportRow[],
): Promise<('created' | 'updated' | 'unchanged')[]> {
  const given = rows.flatMap(
    ({ email, phone, reason, diagnostic, active, expiresAt }): SuppressionGiven[] => {
      const common = { reason, diagnostic, expires_at: expiresAt };
      return [
        ...(active && email ? [{ channel: 'email' as const, key: email.key, ...common }] : []),
        ...(active && phone !== null ? [{ channel: 'sms' as const, key: phone, ...common }] : []),
      ];
    },
  );
  const outcomes = await suppress(trx, record, given);
  return rows.map(({ email, phone }) => {
    const changes = [email?.key, phone].flatMap((key) => (key ? (outcomes.get(key) ?? []) : []));
    if (changes.includes(true)) return 'created';
    return changes.length > 0 ? 'updated' : 'unchanged';
  });
}
