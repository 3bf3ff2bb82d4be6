import { isDeepStrictEqual } from 'node:util';
import type { ChannelChange } from './change.ts';
import { type ContactData, patchData } from './data.ts';
import type { StoredContact } from './model.ts';
import type { ChannelKind } from './schema.ts';

/** The columns of one channel that a change can set. */
export interface ChannelState {
  address: string | null;
  key: string | null;
  subscribed: boolean;
  verified: boolean;
  optInAt: Date | null;
  optInSource: string | null;
  optOutAt: Date | null;
  /** Null: none was ever given. */
  data: ContactData | null;
  createdAt: Date | null;
}

export const noChannel: ChannelState = {
  address: null,
  key: null,
  subscribed: false,
  verified: false,
  optInAt: null,
  optInSource: null,
  optOutAt: null,
  data: null,
  createdAt: null,
};

/** How an opt-in by the API is recorded. */
const API_SOURCE = 'api';

export function channelStateOf(row: StoredContact, kind: ChannelKind): ChannelState {
  if (kind === 'email') {
    return {
      address: row.email,
      key: row.email_key,
      subscribed: row.email_subscribed,
      verified: row.email_verified,
      optInAt: row.email_opt_in_at,
      optInSource: row.email_opt_in_source,
      optOutAt: row.email_opt_out_at,
      data: row.email_data,
      createdAt: row.email_created_at,
    };
  }
  return {
    address: row.phone,
    key: row.phone,
    subscribed: row.phone_subscribed,
    verified: row.phone_verified,
    optInAt: row.phone_opt_in_at,
    optInSource: row.phone_opt_in_source,
    optOutAt: row.phone_opt_out_at,
    data: row.phone_data,
    createdAt: row.phone_created_at,
  };
}

/** What is known of the new address. */
export interface AddressHistory {
  /** When it unsubscribed from the brand, by the ledger; null: it has not. */
  optedOutAt: Date | null;
  at: Date;
}

const optIn = (at: Date) => ({ subscribed: true, optInAt: at, optInSource: API_SOURCE, optOutAt: null });

/** A new address. Only an explicit `subscribed: true` subscribes someone who has unsubscribed. */
function withNewAddress(
  current: ChannelState,
  { address, subscribed }: ChannelChange,
  { optedOutAt, at }: AddressHistory,
): ChannelState {
  const moved = {
    ...current,
    address: address?.address ?? null,
    key: address?.key ?? null,
    verified: false,
    createdAt: current.createdAt ?? at,
  };
  const isNew = current.key === null;
  const stays = subscribed ?? (optedOutAt === null && (isNew || current.subscribed));
  if (stays) return { ...moved, ...optIn(at) };
  return { ...moved, subscribed: false, optOutAt: current.optOutAt ?? optedOutAt ?? at };
}

/**
 * Returns the channel after a change of its address and its data. A change of `subscribed` of an address that stays is not part of
 * it: `changeSubscription` makes it.
 */
export function nextState(
  current: ChannelState,
  change: ChannelChange,
  history: AddressHistory,
): ChannelState {
  if (change.remove) return noChannel;
  const next = withAddress(current, change, history);
  const before = current.data ?? {};
  const data = patchData(before, change.data ?? {});
  return isDeepStrictEqual(data, before) ? next : { ...next, data };
}

function withAddress(current: ChannelState, change: ChannelChange, history: AddressHistory): ChannelState {
  if (change.address === null) return current;
  if (change.address.key !== current.key) return withNewAddress(current, change, history);
  // The same address is an opt-in, unless it has unsubscribed. The first opt-in counts.
  const named = { ...current, address: change.address.address };
  if (current.subscribed && current.optInAt === null) return { ...named, ...optIn(history.at) };
  return named.address === current.address ? current : named;
}
