/** The mailboxes in the address fields of a mail. */
import { addressParser } from 'postal-mime';
import type { Address, Header, Mailbox } from 'postal-mime';
import { visibleLine } from './visible-text.ts';

const MAX_ADDRESSES = 200;
const MAX_NAME_LENGTH = 256;
const MAX_ADDRESS_LENGTH = 320;

/** RFC 5322, section 3.2.3, without the dot. */
const SPECIALS = /[()<>[\]:;@\\,"]/;

/** Returns the values of all fields of a name, in order. */
export function valuesOf(fields: readonly Header[], name: string): string[] {
  return fields.filter(({ key }) => key === name).map(({ value }) => value);
}

/**
 * Joins the parts of a name that has a comma or semicolon outside of quotes, as many programs write it: `Müller, Jörg
 * <joerg@example.com>`. To the parser, each part but the last is a mailbox without an address.
 */
function joinNames(addresses: readonly Address[]): Address[] {
  const joined: Address[] = [];
  let parts: string[] = [];
  for (const one of addresses) {
    if (!one.group && one.address === '') {
      parts.push(one.name);
      continue;
    }
    joined.push(one.group ? one : { ...one, name: [...parts, one.name].filter(Boolean).join(', ') });
    parts = [];
  }
  const last = joined.at(-1);
  if (parts.length === 0) return joined;
  // What follows the last address belongs to its name, unless it is all that there is.
  if (!last || last.group) return [...joined, ...parts.map((name) => ({ name, address: '' }))];
  return [...joined.slice(0, -1), { ...last, name: [last.name, ...parts].filter(Boolean).join(', ') }];
}

/** Returns the mailboxes of all fields of a name, the members of groups among them. */
export function mailboxesIn(fields: readonly Header[], name: string): Mailbox[] {
  return valuesOf(fields, name).flatMap((value) => mailboxesOf(value));
}

/** Returns the mailboxes in the value of an address field. */
export function mailboxesOf(value: string): Mailbox[] {
  return joinNames(addressParser(value)).flatMap((address) =>
    address.group ? (joinNames(address.group) as Mailbox[]) : [address],
  );
}

/** In quotes if it could be taken for an address, or for several. */
export function quotedName(name: string): string {
  return SPECIALS.test(name) ? `"${name.replace(/["\\]/g, '\\$&')}"` : name;
}

/** Formats a mailbox as `Name <address>`, to be shown. */
function shownMailbox({ name, address }: Mailbox): string {
  const shownName = quotedName(visibleLine(name, MAX_NAME_LENGTH));
  const shownAddress = visibleLine(address, MAX_ADDRESS_LENGTH);
  if (shownAddress === '') return shownName;
  return shownName === '' ? shownAddress : `${shownName} <${shownAddress}>`;
}

/** Returns the mailboxes of all fields of a name as they are shown. */
export function shownMailboxes(fields: readonly Header[], name: string): string[] {
  return mailboxesIn(fields, name)
    .slice(0, MAX_ADDRESSES)
    .map(shownMailbox)
    .filter((shown) => shown !== '');
}
