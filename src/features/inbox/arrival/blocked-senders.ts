import { addressParser } from 'postal-mime';
import { parseEmailAddress } from '../../../delivery/terms/addresses/email.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { ReadMail } from '../mail/mail.ts';
import type { ClaimedMail } from './accepted-mails.ts';

/** A sender's address, its domain, and the domains above that. */
function namesOf(senderKey: string): string[] {
  const labels = senderKey.slice(senderKey.lastIndexOf('@') + 1).split('.');
  return [senderKey, ...labels.map((_label, index) => labels.slice(index).join('.'))];
}

/** The addresses of the authors. Several authors make no sender, but a block is for each of them. */
function authorsOf({ senderKey, from }: ReadMail): string[] {
  if (senderKey !== null) return [senderKey];
  return addressParser(from, { flatten: true }).flatMap(({ address = '' }) => {
    const parsed = parseEmailAddress(address);
    return 'error' in parsed ? [] : [parsed.key];
  });
}

/**
 * Finds which mails are from senders that their brands have blocked.
 * @returns the blocked address or domain, by the ids of the mails
 */
export async function findBlocked(
  trx: Queryable,
  mails: readonly { claimed: ClaimedMail; read: ReadMail }[],
): Promise<Map<number, string>> {
  const names = mails.flatMap(({ claimed, read }) =>
    [...new Set(authorsOf(read).flatMap(namesOf))].map((name) => ({
      mail: claimed.id,
      brand: claimed.brand_id,
      name,
    })),
  );
  if (names.length === 0) return new Map();
  const { rows } = await trx.query<{ mail: number; name: string }>({
    name: 'find_blocked_senders',
    text: `select n.mail, n.name from unnest($1::bigint[], $2::bigint[], $3::text[]) as n (mail, brand, name)
      join inbox_blocks b on b.brand_id = n.brand and coalesce(b.email, b.domain) = n.name`,
    values: [names.map(({ mail }) => mail), names.map(({ brand }) => brand), names.map(({ name }) => name)],
  });
  return new Map(rows.map(({ mail, name }) => [mail, name]));
}
