import type { Schemas } from '../../api/client.ts';
import { isObject } from '../../ui/json-text.ts';
import { addressOf } from '../../ui/contact-text.ts';

const COLUMNS = [
  'first_name',
  'last_name',
  'source',
  'country_code',
  'subscribed_email',
  'subscribed_phone',
  'verification_status',
  'enrichment_status',
  'last_interacted_at',
  'created_at',
  'updated_at',
] as const;

const LONGEST = 80;
const textOf = (value: unknown): string => {
  if (value === undefined || value === null || value === '') return 'nothing';
  const text = typeof value === 'string' ? `“${value}”` : JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
};

/** Returns what a contact has that a filter is about, in words; null if its resource does not say. */
export function contactValueText(contact: Schemas['Contact'], name: string): string | null {
  if (name === 'email' || name === 'phone') return textOf(addressOf(contact, name));
  if (name.startsWith('data.')) {
    // Names with keys in quotes come only from API clients.
    if (/["'[]/.test(name)) return null;
    const keys = name
      .split(/(?<!\\)[.]/)
      .slice(1)
      .map((key) => key.replaceAll(String.raw`\.`, '.'));
    const value = keys.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), contact.data);
    return textOf(value);
  }
  const column = COLUMNS.find((each) => each === name);
  return column === undefined ? null : textOf(contact[column]);
}
