/** The values that a content can use, each with an example from the brand's data. */
import type { Schemas } from '../../api/client.ts';
import { isObject } from '../../ui/json-text.ts';
import { isName } from './liquid-value.ts';

interface ValueChoice {
  name: string;
  /** In words. */
  label: string;
  /** What a contact or the brand has now; null if none is known. */
  example: string | null;
}

interface Known {
  /** Paths in the data of contacts. */
  data: readonly string[];
  contacts: readonly Schemas['Contact'][];
  brand: Schemas['Brand'] | null;
}

const DATA = 'contact.data.';
const MAX_EXAMPLE = 40;

const GROUPS: readonly (readonly [beginning: RegExp, group: string])[] = [
  [/^contact\.data\./, 'Data of the contact'],
  [/^contact\./, 'Contact'],
  [/^event\./, 'Event that started the flow'],
  [/^brand\./, 'Brand'],
  [/^campaign\./, 'Campaign'],
  [/_url$/, 'Links'],
];
const OTHERS = 'Of this content';
const PREFIX = /^(?:contact\.data|contact|event\.data|event|brand|campaign)\./;

function labelOf(name: string): string {
  const words = name.replace(PREFIX, '').replace(/_url$/, ' link').replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Only own fields, as Liquid reads them. */
const at = (value: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>((part, key) => (isObject(part) && Object.hasOwn(part, key) ? part[key] : null), value);

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : '';
}

function exampleOf(name: string, { contacts, brand }: Known): string | null {
  const values: unknown[] = name.startsWith('contact.')
    ? contacts.map((contact) => at({ contact: withAddresses(contact) }, name))
    : [at({ brand }, name)];
  const text = values.map(textOf).find((each) => each !== '');
  if (text === undefined) return null;
  return text.length > MAX_EXAMPLE ? `${text.slice(0, MAX_EXAMPLE)}…` : text;
}

const withAddresses = ({ channels, ...contact }: Schemas['Contact']) => ({
  ...contact,
  ...Object.fromEntries(channels.toReversed().map(({ kind, value }) => [kind, value])),
});

const groupOf = (name: string): string => GROUPS.find(([beginning]) => beginning.test(name))?.[1] ?? OTHERS;

/**
 * Returns the values by groups.
 * @param names those that every content has, and those of this one
 */
export function valueGroups(names: readonly string[], known: Known): [group: string, ValueChoice[]][] {
  const data = known.data.map((path) => `${DATA}${path}`).filter(isName);
  const groups = new Map<string, ValueChoice[]>();
  for (const name of new Set([...names, ...data])) {
    const choices = groups.get(groupOf(name)) ?? [];
    choices.push({ name, label: labelOf(name), example: exampleOf(name, known) });
    groups.set(groupOf(name), choices);
  }
  return [...groups];
}
