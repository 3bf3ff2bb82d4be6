import type { Queryable } from '../../platform/db/queryable.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { ConsentDeps } from './consent.ts';

/** A contact to create or to change. Null: nothing is known, and what the contact has stays. */
export interface BulkContact {
  email: { address: string; key: string } | null;
  /** In E.164 form. */
  phone: string | null;
  firstName: string | null;
  lastName: string | null;
  countryCode: string | null;
  source: string | null;
  /** Whether a new channel is subscribed; null: as the options say. */
  subscribed: { email: boolean | null; phone: boolean | null };
  data: Record<string, unknown> | null;
}

/** Whether the row opts a new channel out. */
export const optsOut = ({ subscribed }: Pick<BulkContact, 'subscribed'>): boolean =>
  subscribed.email === false || subscribed.phone === false;

export interface BulkOptions {
  /** Whether contacts that exist change. */
  updateExisting: boolean;
  /** Whether new channels are subscribed. Channels in the opt-out ledger never are. */
  subscribe: boolean;
  /** What created the contacts: source of those that name none, and of the opt-ins. */
  source: string;
}

export type BulkOutcome =
  { status: 'created' | 'updated' | 'unchanged'; id: number } | { status: 'failed'; problem: BulkProblem };

/**
 * `phone_conflict`: the phone number is another contact's. `email_conflict`: the phone number is that of a contact with
 * another email address. `data_too_large`: with what the contact has.
 */
export type BulkProblem = 'phone_conflict' | 'email_conflict' | 'data_too_large';

/** A contact that has one of the addresses. */
export interface Known {
  id: number;
  email_key: string | null;
  phone: string | null;
  phone_subscribed: boolean;
  data_bytes: number;
}

export interface Pending {
  contact: BulkContact;
  index: number;
}

export interface Match extends Pending {
  known: Known;
}

export interface Work {
  trx: Queryable;
  deps: ConsentDeps;
  scope: BrandScope;
  options: BulkOptions;
  outcomes: BulkOutcome[];
}
