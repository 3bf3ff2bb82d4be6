/** What a run reads of its contact, shared by real and simulated runs. */
import { createHash } from 'node:crypto';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { timeIn } from '../../../platform/input/times.ts';
import { isPresent, keysOfName, valueAt } from '../../segments/index.ts';
import { type FilterScope, flowMatches } from '../filters.ts';
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

interface ContactTimes extends Record<(typeof timeColumns)[number], Date | null> {
  data: Record<string, unknown>;
  country_code: string | null;
  brand_timezone: string | null;
}

async function readContact(db: Queryable, brandId: number, contactId: number): Promise<ContactTimes | null> {
  const { rows } = await db.query<ContactTimes>({
    name: 'flow_contact_times',
    text: `select c.data, c.country_code, c.email_opt_in_at, c.email_opt_out_at, c.phone_opt_in_at, c.phone_opt_out_at,
        c.created_at, c.updated_at, a.last_interacted_at, b.timezone as brand_timezone
      from contacts c join brands b on b.id = c.brand_id left join contact_activity a on a.contact_id = c.id
      where c.brand_id = $1 and c.id = $2`,
    values: [brandId, contactId],
  });
  return rows[0] ?? null;
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
export interface ReadScope extends Omit<FilterScope, 'received'> {
  flowId: number;
}

/**
 * The reading part of a run's context. It reads the contact again each time, because steps of the run change it.
 * @param scope called for each read
 */
export function createContactReads(
  db: Queryable,
  scope: () => ReadScope,
): Pick<RunContext, 'matches' | 'timeOf' | 'timezone' | 'percentile'> {
  async function contactNow(): Promise<ContactTimes | null> {
    const { brandId, contactId, changes } = scope();
    const contact = await readContact(db, brandId, contactId);
    return contact && { ...contact, data: { ...contact.data, ...changes?.data } };
  }

  return {
    matches: (filters, received) =>
      flowMatches(db, { ...scope(), received: received?.data ?? null }, filters),
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
