/** What a request says about channels outside of `channels_attributes`, which clients send back as they received it. */
import { isDeepStrictEqual } from 'node:util';
import { patchData } from './data.ts';
import { type ChannelChange, type ChannelChanges, type Problems, readAddress } from './change.ts';
import { type ChannelState, channelStateOf, noChannel } from './channel-state.ts';
import type { StoredContact } from './model.ts';
import { channelId } from './presenter.ts';
import {
  type ChangeContactBody,
  type ChannelKind,
  channelKinds,
  type CopiedChannel,
  type CreateContactBody,
} from './schema.ts';

type Body = CreateContactBody | ChangeContactBody;

/** Whether a request unsubscribes a channel. The contact may be unsubscribed already. */
export const saysNo = (body: Body): boolean =>
  channelKinds.some((kind) => body[`subscribed_${kind}`] === false) ||
  (body.channels?.some(({ subscribed }) => subscribed === false) ?? false);

const READ_ONLY = 'differs from what is stored, and can be changed only by channels_attributes';

const isSubscribed = ({ key, subscribed }: ChannelState): boolean => key !== null && subscribed;
const NO_CHANGE: ChannelChange = {
  address: null,
  subscribed: null,
  data: null,
  dataField: '',
  remove: false,
};

interface Reading {
  body: Body;
  /** Null: the request creates the contact. */
  row: StoredContact | null;
  changes: ChannelChanges;
  problems: Problems;
}

function kindOf({ id, kind }: CopiedChannel, at: string, { row, problems }: Reading): ChannelKind | null {
  if (kind) return kind;
  const named = channelKinds.find((each) => row && id === channelId(each, row.id));
  if (named) return named;
  if (id) problems.add(`${at}.id`, 'is not a channel of this contact');
  else problems.add(`${at}.kind`, 'or id is required');
  return null;
}

/** Reports an address and data that are neither those of the contact nor those that the request gives to it. */
function requireSame(copy: CopiedChannel, kind: ChannelKind, at: string, reading: Reading): void {
  const { row, changes, problems } = reading;
  const before = row ? channelStateOf(row, kind) : noChannel;
  const data = before.data ?? {};
  const change = changes[kind] ?? NO_CHANGE;
  if (copy.value && copy.value !== before.address && !isAsked(copy.value, kind, change, reading)) {
    problems.add(`${at}.value`, READ_ONLY);
  }
  const known = [data, patchData(data, change.data ?? {})];
  if (copy.data && !known.some((each) => isDeepStrictEqual(copy.data, each))) {
    problems.add(`${at}.data`, READ_ONLY);
  }
}

/** Whether the request gives the channel this address elsewhere. */
function isAsked(
  text: string,
  kind: ChannelKind,
  { address }: ChannelChange,
  { body, row }: Reading,
): boolean {
  const read = readAddress(kind, text, body.country_code ?? row?.country_code ?? null);
  return !('error' in read) && read.key === address?.key;
}

/** Reports a channel that was taken out of a copy. One that only says which channel is unsubscribed may be alone. */
function requireAll(kinds: readonly ChannelKind[], { body, row, changes, problems }: Reading): void {
  if (!row || body.channels?.some(({ subscribed }) => subscribed === false)) return;
  const missing = channelKinds.filter(
    (kind) => channelStateOf(row, kind).key !== null && !changes[kind]?.remove && !kinds.includes(kind),
  );
  for (const kind of missing) {
    problems.add('channels', `lack the ${kind}; channels_attributes with _destroy removes a channel`);
  }
}

/** @returns the fields that unsubscribe, by the kind of channel */
function readRefusals(reading: Reading, isComplete: boolean): Partial<Record<ChannelKind, string>> {
  const { body } = reading;
  const refused: Partial<Record<ChannelKind, string>> = {};
  const kinds: ChannelKind[] = [];
  for (const [index, copy] of (body.channels ?? []).entries()) {
    const at = `channels.${index}`;
    const kind = kindOf(copy, at, reading);
    if (!kind) continue;
    kinds.push(kind);
    requireSame(copy, kind, at, reading);
    if (copy.subscribed === false) refused[kind] = `${at}.subscribed`;
  }
  if (isComplete && body.channels) requireAll(kinds, reading);
  for (const kind of channelKinds) {
    if (body[`subscribed_${kind}`] === false) refused[kind] = `subscribed_${kind}`;
  }
  return refused;
}

/**
 * @param before null: the request creates the contact
 * @returns the change of a channel together with the refusal; null if that says nothing new
 */
function refusal(
  before: ChannelState | null,
  change: ChannelChange = NO_CHANGE,
): ChannelChange | 'contradiction' | null {
  const { address, subscribed, remove } = change;
  const stored = before ?? noChannel;
  const isMoved = address !== null && address.key !== stored.key;
  if (remove || (!isSubscribed(stored) && !isMoved)) return null;
  if (subscribed !== true) return { ...change, subscribed: false };
  // A copy of an unsubscribed contact says only what is stored.
  return before && !isSubscribed(before) ? null : 'contradiction';
}

/**
 * Adds to the changes of a request what it says by `subscribed_email`, `subscribed_phone` and `channels`: `false`
 * unsubscribes, and `true` says nothing. A channel that is unsubscribed already stays as it is, so a copy of the contact
 * can subscribe it by `channels_attributes`.
 * @param row the contact that the request changes; null: it creates one
 * @param isComplete whether `channels` must name every channel of the contact, as a PATCH does
 * @param problems receives contradictions, and changes that only `channels_attributes` can make
 */
export function withRefusals(
  body: Body,
  row: StoredContact | null,
  changes: ChannelChanges,
  { isComplete, problems }: { isComplete: boolean; problems: Problems },
): ChannelChanges {
  const refused = readRefusals({ body, row, changes, problems }, isComplete);
  const added = Object.entries(refused).flatMap(([name, field]) => {
    const kind = name as ChannelKind;
    const change = refusal(row && channelStateOf(row, kind), changes[kind]);
    if (change !== 'contradiction') return change ? [[kind, change]] : [];
    problems.add(field, 'contradicts subscribed: true in channels_attributes');
    return [];
  });
  return { ...changes, ...(Object.fromEntries(added) as ChannelChanges) };
}
