import { findOptOuts, recordImportedOptOuts } from '../../delivery/ledger/consent/opt-outs.ts';
import type { Channel } from '../../delivery/terms/message.ts';
import type { Pending, Work } from './bulk-work.ts';

/** Finds when each of the addresses unsubscribed from the brand. */
async function optOutsOf({ trx, deps, scope }: Work, channel: Channel, addresses: readonly string[]) {
  const { brandId } = scope;
  // Brands without opt-outs need no HMAC for each address.
  const { rows } = await trx.query<{ found: boolean }>(
    `select exists (select 1 from opt_outs where brand_id = $1 and channel = $2 and ended_at is null) as found`,
    [brandId, channel],
  );
  if (!rows[0]?.found) return new Map<string, Date>();
  const { plusAddresses } = deps;
  return findOptOuts(trx, deps.keyring, { brandId, channel, plusAddresses, addresses });
}

interface ChannelState {
  subscribed: boolean;
  optOutAt: Date | null;
}

/** Decides the subscriptions of new channels, and collects the opt-outs that new phone numbers inherit. */
export class NewChannels {
  private readonly work: Work;
  private readonly optOuts: Record<Channel, Map<string, Date>>;
  private readonly unsubscribedPhones: string[] = [];

  private constructor(work: Work, optOuts: Record<Channel, Map<string, Date>>) {
    this.work = work;
    this.optOuts = optOuts;
  }

  static async read(work: Work, rows: readonly Pending[]): Promise<NewChannels> {
    const emails = rows.flatMap(({ contact }) => contact.email?.key ?? []);
    const phones = rows.flatMap(({ contact }) => contact.phone ?? []);
    const email = await optOutsOf(work, 'email', emails);
    return new NewChannels(work, { email, sms: await optOutsOf(work, 'sms', phones) });
  }

  /** @param subscribed as in the row */
  state(channel: Channel, key: string | null | undefined, subscribed: boolean | null): ChannelState {
    if (!key) return { subscribed: false, optOutAt: null };
    const optOutAt = this.optOuts[channel].get(key);
    if (optOutAt) return { subscribed: false, optOutAt };
    return { subscribed: subscribed ?? this.work.options.subscribe, optOutAt: null };
  }

  /** Notes a phone number that replaces one that has unsubscribed. */
  unsubscribed(phone: string): void {
    if (!this.optOuts.sms.has(phone)) this.unsubscribedPhones.push(phone);
  }

  /** Writes the noted opt-outs to the ledger. */
  async record(): Promise<void> {
    const { trx, deps, scope, options } = this.work;
    const of = { ...scope, channel: 'sms' as const, importId: options.importId };
    const optOuts = this.unsubscribedPhones.map((address) => ({ address, at: null }));
    await recordImportedOptOuts(trx, deps.keyring, of, optOuts);
  }
}
