import type { Schemas } from '../api/client.ts';

type Contact = Schemas['Contact'];

interface Named {
  first_name: string | null;
  last_name: string | null;
}

/** Returns the name of a contact or a user; '' if it has none. */
export const fullNameOf = ({ first_name: first, last_name: last }: Named): string =>
  [first, last].filter(Boolean).join(' ').trim();

/** Returns the address of a contact in a channel; null if it has none. */
export const addressOf = ({ channels }: Pick<Contact, 'channels'>, kind: 'email' | 'phone'): string | null =>
  channels.find((channel) => channel.kind === kind)?.value ?? null;

/** Returns the address by which people know a contact; null if it has none. */
export const mainAddressOf = (contact: Pick<Contact, 'channels'>): string | null =>
  addressOf(contact, 'email') ?? addressOf(contact, 'phone');

/** Returns what to call a contact: its name, or else an address. */
export const contactName = (contact: Contact): string =>
  fullNameOf(contact) || (mainAddressOf(contact) ?? `Contact ${contact.id}`);
