import type { Schemas } from '../../api/client.ts';

type Contact = Schemas['Contact'];

/** Returns the address of a contact in a channel; null if it has none. */
export const addressOf = ({ channels }: Contact, kind: 'email' | 'phone'): string | null =>
  channels.find((channel) => channel.kind === kind)?.value ?? null;

/** Returns what to call a contact: its name, or else an address. */
export function contactName(contact: Contact): string {
  const name = [contact.first_name, contact.last_name].filter(Boolean).join(' ');
  return name || (addressOf(contact, 'email') ?? addressOf(contact, 'phone') ?? `Contact ${contact.id}`);
}
