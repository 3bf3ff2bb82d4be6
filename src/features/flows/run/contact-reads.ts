/** What a run reads of its contact, shared by real and simulated runs. */
import { createHash } from 'node:crypto';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { timeIn } from '../../../platform/input/times.ts';
import { isPresent, keysOfName, valueAt } from '../../segments/index.ts';
import { type FilterScope, flowMatches, type RunScope } from '../filters.ts';
import type { Filters } from '../steps/step.ts';
import type { RunContext, Unreadable } from './interpreter.ts';
import { contactTimezone } from './times.ts';

/**
 * The position of a contact for a split, in [0, 100). It depends on these ids only, so that a contact takes the same
 * branch in all its runs.
 */
export function percentileOf(flowId: number, contactId: number, stepId: number): number {
  const hash = createHash('sha256').update(`${flowId}/${contactId}/${stepId}`).digest();
  return (100 * hash.readUIntBE(0, 6)) / 2 ** 48;
}

/** The columns of a contact that contain times. */
const timeColumns = [
  'email_opt_in_at',
  'email_opt_out_at',
  'phone_opt_in_at',
  'phone_opt_out_at',
  'created_at',
  'updated_at',
  'last_interacted_at',
] as const;

/** What runs read of a contact, apart from filters. */
export interface ContactTimes extends Record<(typeof timeColumns)[number], Date | null> {
  data: Record<string, unknown>;
  country_code: string | null;
  brand_timezone: string | null;
}

/** Reads contacts of brands. @returns for each; null if the brand has no such contact */
export async function readContacts(
  db: Queryable,
  wanted: readonly { brandId: number; contactId: number }[],
): Promise<(ContactTimes | null)[]> {
  const { rows } = await db.query<ContactTimes & { n: number }>({
    name: 'times_of_flow_contacts',
    text: `select w.n::int, c.data, c.country_code, c.email_opt_in_at, c.email_opt_out_at, c.phone_opt_in_at,
        c.phone_opt_out_at, c.created_at, c.updated_at, a.last_interacted_at, b.timezone as brand_timezone
      from unnest($1::bigint[], $2::bigint[]) with ordinality as w (brand_id, contact_id, n)
      join contacts c on c.brand_id = w.brand_id and c.id = w.contact_id
      join brands b on b.id = c.brand_id left join contact_activity a on a.contact_id = c.id`,
    values: [wanted.map(({ brandId }) => brandId), wanted.map(({ contactId }) => contactId)],
  });
  const found = new Map(rows.map((row) => [row.n, row]));
  return wanted.map((_, n) => found.get(n + 1) ?? null);
}

/**
 * Reads a value that a run asks for a time.
 * @param zone of values that name none
 * @returns null if there is no value
 */
export function readDataTime(value: unknown, zone: string | null): Date | Unreadable | null {
  if (!isPresent(typeof value === 'string' ? value.trim() : value)) return null;
  return timeIn(value, zone ?? 'UTC') ?? { unreadable: value };
}

/** Reads a field that contains a time. @param field `data.<path>`, or the name of a column */
function timeOfField(contact: ContactTimes, field: string): Date | Unreadable | null {
  const [first, ...names] = keysOfName(field) ?? [];
  if (first === 'data' && names.length > 0) {
    return readDataTime(valueAt(contact.data, names), contact.brand_timezone);
  }
  const column = timeColumns.find((name) => name === field);
  return column === undefined ? null : contact[column];
}

/** The contact to read, and the run for which it is read. */
export interface ReadScope extends Omit<RunScope, 'received'> {
  flowId: number;
}

/** How the state of contacts is read: for one run, or for many at once. */
export interface ContactReader<Scope extends RunScope> {
  contact(of: { brandId: number; contactId: number }): Promise<ContactTimes | null>;
  matches(scope: Scope, filters: Filters): Promise<boolean>;
}

type ContactReads = Pick<RunContext, 'matches' | 'timeOf' | 'timezone' | 'percentile'>;

/**
 * The reading part of a run's context. It reads the contact again each time, because steps of the run change it.
 * @param scope called for each read
 */
export function readsOf<Scope extends ReadScope>(
  reader: ContactReader<Scope & RunScope>,
  scope: () => Scope,
): ContactReads {
  async function contactNow(): Promise<ContactTimes | null> {
    const { brandId, contactId, changes } = scope();
    const contact = await reader.contact({ brandId, contactId });
    return contact && { ...contact, data: { ...contact.data, ...changes?.data } };
  }

  return {
    matches: (filters, received) => reader.matches({ ...scope(), received: received?.data ?? null }, filters),
    async timeOf(field) {
      const contact = await contactNow();
      return contact && timeOfField(contact, field);
    },
    async timezone() {
      const contact = await contactNow();
      if (!contact) return 'UTC';
      const { data, country_code: countryCode } = contact;
      return contactTimezone({ timezone: data.timezone, countryCode }, contact.brand_timezone);
    },
    percentile(stepId) {
      const { flowId, contactId } = scope();
      return percentileOf(flowId, contactId, stepId);
    },
  };
}

/** Like {@link readsOf}, for one run that reads by itself. */
export function createContactReads(
  db: Queryable,
  scope: () => ReadScope & Pick<FilterScope, 'steps'>,
): ContactReads {
  const reader: ContactReader<ReadScope & FilterScope> = {
    async contact(of) {
      const [contact = null] = await readContacts(db, [of]);
      return contact;
    },
    matches: (filterScope, filters) => flowMatches(db, filterScope, filters),
  };
  return readsOf(reader, scope);
}
