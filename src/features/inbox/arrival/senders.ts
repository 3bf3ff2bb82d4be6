/** Finds the contacts who have sent mails. */
import type { BrandScope } from '../../../platform/db/model.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { type ConsentDeps, ensureContacts } from '../../contacts/service.ts';
import type { ArrivingMail } from './arriving-mails.ts';

/** The `source` of contacts that a mail creates. */
const SOURCE = 'inbox';

/** A mail whose sender is proven. */
type ProvedMail = ArrivingMail & { sender_key: string };

const isProved = (mail: ArrivingMail): mail is ProvedMail => mail.sender_trusted && mail.sender_key !== null;

const nameOf = (brandId: number, key: string) => `${brandId} ${key}`;

/** Creates contacts for the inboxes that want this, brand by brand. */
async function createSenders(trx: Queryable, deps: ConsentDeps, mails: readonly ProvedMail[]): Promise<void> {
  const creating = mails.filter((mail) => mail.create_contacts);
  const byBrand = [...Map.groupBy(creating, (mail) => mail.brand_id)].sort(([one], [other]) => one - other);
  for (const [brandId, own] of byBrand) {
    const tenant: BrandScope = { accountId: (own[0] as ProvedMail).account_id, brandId };
    const keys = [...new Set(own.map((mail) => mail.sender_key))];
    const addresses = keys.map((key) => ({ address: key, key }));
    await ensureContacts(trx, deps, tenant, addresses, SOURCE, { subscribed: false });
  }
}

/**
 * Finds the contacts that have sent mails, if SPF or DKIM proves that they have, and locks them, so that they are not
 * deleted meanwhile. A contact that is being deleted is not found. Creates contacts, unsubscribed, if the inbox is so set.
 * @param trx has no lock of a contact or a conversation yet
 * @returns the ids of the contacts by the ids of the mails
 */
export async function findSenders(
  trx: Queryable,
  deps: ConsentDeps,
  mails: readonly ArrivingMail[],
): Promise<Map<number, number>> {
  const proved = mails.filter(isProved);
  if (proved.length === 0) return new Map();
  await createSenders(trx, deps, proved);
  const wanted = new Map(proved.map((mail) => [nameOf(mail.brand_id, mail.sender_key), mail]));
  const { rows } = await trx.query<{ id: number; brand_id: number; email_key: string }>({
    name: 'lock_senders',
    text: `select c.id, c.brand_id, c.email_key from unnest($1::bigint[], $2::text[]) as k (brand_id, email_key)
      join contacts c on c.brand_id = k.brand_id and c.email_key = k.email_key
      order by c.id for key share of c skip locked`,
    values: [
      [...wanted.values()].map((mail) => mail.brand_id),
      [...wanted.values()].map((mail) => mail.sender_key),
    ],
  });
  const ids = new Map(rows.map((row) => [nameOf(row.brand_id, row.email_key), row.id]));
  return new Map(
    proved.flatMap((mail) => {
      const id = ids.get(nameOf(mail.brand_id, mail.sender_key));
      return id === undefined ? [] : [[mail.id, id] as const];
    }),
  );
}
