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
  /** Null: no request ever set it. */
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

/** The source of opt-ins by the API. */
const API_SOURCE = 'api';

export function channelStateOf(row: StoredContact, kind: ChannelKind): ChannelState {
  return {
    address: row[kind],
    key: kind === 'email' ? row.email_key : row.phone,
    subscribed: row[`${kind}_subscribed`],
    verified: row[`${kind}_verified`],
    optInAt: row[`${kind}_opt_in_at`],
    optInSource: row[`${kind}_opt_in_source`],
    optOutAt: row[`${kind}_opt_out_at`],
    data: row[`${kind}_data`],
    createdAt: row[`${kind}_created_at`],
  };
}

/** The consent of the new address so far. */
export interface AddressHistory {
  /** When it unsubscribed from the brand, according to the ledger; null: it has not. */
  optedOutAt: Date | null;
  at: Date;
}

const optIn = (at: Date) => ({ subscribed: true, optInAt: at, optInSource: API_SOURCE, optOutAt: null });

/** Gives the channel a new address. Only an explicit `subscribed: true` subscribes an address that has unsubscribed. */
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
 * Returns the channel after a change of its address and its data. If the address stays, `changeSubscription` changes
 * `subscribed` instead.
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
  // Giving the same address again is an opt-in, unless it has unsubscribed. The time of the first opt-in stays.
  const named = { ...current, address: change.address.address };
  if (current.subscribed && current.optInAt === null) return { ...named, ...optIn(history.at) };
  return named.address === current.address ? current : named;
}
