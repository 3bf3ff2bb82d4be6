import { type Channel, channelFacts } from '../../../delivery/terms/channels/index.ts';
import { hasNoPriceSql } from '../../../delivery/ledger/money/prices.ts';
import { isPaidBySegment } from '../../../delivery/terms/units.ts';
import { suppressedSql } from '../../../delivery/ledger/consent/suppressions.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { createContactReads, percentileOf } from '../run/contact-reads.ts';
import { quietUntil, type QuietHours } from '../run/send.ts';
import type { SimulatedContact, SimulatedState } from './simulation.ts';

/** What decides whether a contact gets messages. */
interface Reachable {
  quiet_hours: QuietHours | null;
  email: string | null;
  phone: string | null;
  email_subscribed: boolean;
  phone_subscribed: boolean;
  email_suppressed: boolean;
  phone_suppressed: boolean;
  phone_has_no_price: boolean;
}

const isSuppressedSql = (key: string) => suppressedSql({ account: 'c.account_id', key });

async function readReachable(db: Queryable, brandId: number, contactId: number): Promise<Reachable | null> {
  const { rows } = await db.query<Reachable>(
    `select b.quiet_hours, c.email, c.phone, c.email_subscribed, c.phone_subscribed,
       ${isSuppressedSql('c.email_key')} as email_suppressed, ${isSuppressedSql('c.phone')} as phone_suppressed,
       ${hasNoPriceSql('a', 'c.phone')} as phone_has_no_price
     from contacts c join brands b on b.id = c.brand_id join accounts a on a.id = b.account_id where c.brand_id = $1 and c.id = $2`,
    [brandId, contactId],
  );
  return rows[0] ?? null;
}

/** Why a contact would not get a message; null if it would. */
function refusal(contact: Reachable, channel: Channel): { exit: string } | { skip: string } | null {
  const { kind } = channelFacts[channel].contact;
  if (contact[kind] === null) return { skip: 'no_address' };
  if (!contact[`${kind}_subscribed`]) return { exit: 'unsubscribed' };
  if (contact[`${kind}_suppressed`]) return { exit: 'suppressed' };
  return isPaidBySegment(channel) && contact.phone_has_no_price ? { skip: 'no_price' } : null;
}

/**
 * Reads a contact for a simulation: its current state, with the changes of the simulated run.
 * @returns null if the brand has no such contact
 */
export async function readSimulatedContact(
  db: Queryable,
  of: {
    flowId: number;
    brandId: number;
    contactId: number;
    trigger: Readonly<Record<string, unknown>> | null;
  },
): Promise<SimulatedContact | null> {
  const contact = await readReachable(db, of.brandId, of.contactId);
  if (!contact) return null;
  const at = ({ asOf, changes, steps }: SimulatedState) =>
    createContactReads(db, () => ({ ...of, asOf, changes, steps: () => Promise.resolve(steps) }));
  return {
    percentile: (stepId) => percentileOf(of.flowId, of.contactId, stepId),
    matches: (state, filters, received) => at(state).matches(filters, received),
    timeOf: (state, field) => at(state).timeOf(field),
    timezone: (state) => at(state).timezone(),
    async quietUntil(state) {
      return contact.quiet_hours ? quietUntil(contact, await at(state).timezone(), state.asOf) : null;
    },
    async send(channel) {
      const refused = refusal(contact, channel);
      if (!refused) return { outcome: 'sent' };
      return 'exit' in refused ? refused : { outcome: 'skipped', detail: { reason: refused.skip } };
    },
  };
}
