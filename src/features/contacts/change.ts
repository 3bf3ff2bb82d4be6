import { type AddressError, parseEmailAddress } from '../../delivery/terms/addresses/email.ts';
import { readPhone } from '../../delivery/terms/addresses/phone.ts';
import { invalid, type ValidationErrors } from '../../errors.ts';
import type { ContactData } from './data.ts';
import { channelId } from './presenter.ts';
import { type ChangeContactBody, type ChannelKind, channelKinds, type CreateContactBody } from './schema.ts';

/** An address as shown, and in the form in which addresses are compared. */
export interface ParsedAddress {
  address: string;
  key: string;
}

/** The changes that a request makes to one channel. */
export interface ChannelChange {
  /** Null: the address stays. */
  address: ParsedAddress | null;
  /** Null: the request does not name it. */
  subscribed: boolean | null;
  /** What to change of the channel's data, by key; null: nothing. */
  data: ContactData | null;
  /** The path of `data` in the request, for errors. */
  dataField: string;
  remove: boolean;
}

export type ChannelChanges = Partial<Record<ChannelKind, ChannelChange>>;

type Body = CreateContactBody | ChangeContactBody;
type Item = NonNullable<ChangeContactBody['channels_attributes']>[number];

/** Collects the errors of a request, by field. */
export class Problems {
  readonly errors: ValidationErrors = {};

  add(field: string, problem: string): void {
    (this.errors[field] ??= []).push(problem);
  }

  throwIfAny(): void {
    if (Object.keys(this.errors).length > 0) throw invalid(this.errors);
  }
}

/** Reads the address of a channel. @param country of phone numbers without a country code */
export function readAddress(
  kind: ChannelKind,
  text: string,
  country: string | null,
): ParsedAddress | AddressError {
  if (kind === 'phone') {
    const phone = readPhone(text, country);
    return 'error' in phone ? phone : { address: phone.e164, key: phone.e164 };
  }
  const email = parseEmailAddress(text);
  if ('error' in email) return email;
  if (email.name !== null) return { error: 'must be an address without a name' };
  return { address: email.address, key: email.key };
}

/** @returns null, with a reported problem, if the text is not an address */
function parseAddress(
  kind: ChannelKind,
  text: string,
  field: string,
  country: string | null,
  problems: Problems,
): ParsedAddress | null {
  const read = readAddress(kind, text, country);
  if (!('error' in read)) return read;
  problems.add(field, read.error);
  return null;
}

/** @returns null, with a reported problem, if the item names no channel of the contact */
function kindOf(item: Item, field: string, contactId: number | null, problems: Problems): ChannelKind | null {
  const { id, kind } = item;
  if (id === undefined) {
    if (kind === undefined) problems.add(`${field}.kind`, 'or id is required');
    return kind ?? null;
  }
  const named = channelKinds.find((each) => contactId !== null && id === channelId(each, contactId));
  if (named === undefined) problems.add(`${field}.id`, 'is not a channel of this contact');
  else if (kind !== undefined && kind !== named)
    problems.add(`${field}.kind`, `is not that of the channel ${id}`);
  else return named;
  return null;
}

interface Reading {
  contactId: number | null;
  country: string | null;
  problems: Problems;
}

const isOther = (parsed: ParsedAddress | null, known: ParsedAddress | null) =>
  parsed !== null && known !== null && parsed.key !== known.key;

function readItem(
  item: Item,
  kind: ChannelKind,
  field: string,
  changes: ChannelChanges,
  { country, problems }: Reading,
): void {
  const known = changes[kind];
  const remove = item._destroy === true;
  const text = remove ? undefined : item.value;
  const parsed = text === undefined ? null : parseAddress(kind, text, `${field}.value`, country, problems);
  if (known && (known.remove || remove || isOther(parsed, known.address))) {
    problems.add(field, `contradicts what the request says about ${kind} elsewhere`);
  }
  changes[kind] = {
    address: parsed ?? known?.address ?? null,
    subscribed: item.subscribed ?? known?.subscribed ?? null,
    data: item.data ?? null,
    dataField: `${field}.data`,
    remove,
  };
}

/**
 * Reads the changes of a request to the channels.
 * @param contact the contact that it changes; null: the request may create one
 * @throws AppError validation_error
 */
export function readChannels(
  body: Body,
  contact: { id: number; country_code: string | null } | null,
): ChannelChanges {
  const problems = new Problems();
  const country = (body.country_code === undefined ? contact?.country_code : body.country_code) ?? null;
  const reading: Reading = { contactId: contact?.id ?? null, country, problems };
  const changes: ChannelChanges = {};
  for (const kind of channelKinds) {
    const text = body[kind];
    if (text === undefined) continue;
    const address = parseAddress(kind, text, kind, country, problems);
    changes[kind] = { address, subscribed: null, data: null, dataField: '', remove: false };
  }
  const items: readonly Item[] = body.channels_attributes ?? [];
  const seen = new Set<ChannelKind>();
  items.forEach((item, index) => {
    const field = `channels_attributes.${index}`;
    const kind = kindOf(item, field, reading.contactId, problems);
    if (kind === null) return;
    if (seen.has(kind)) problems.add(field, 'names the same channel as another item');
    seen.add(kind);
    readItem(item, kind, field, changes, reading);
  });
  problems.throwIfAny();
  return changes;
}
