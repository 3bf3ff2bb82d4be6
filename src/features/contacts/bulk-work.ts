import type { Queryable } from '../../platform/db/queryable.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { ConsentDeps } from './consent.ts';

/** A contact to create or to change. A field that is null is unknown: the contact keeps what it has. */
export interface BulkContact {
  email: { address: string; key: string } | null;
  /** In E.164 form. */
  phone: string | null;
  firstName: string | null;
  lastName: string | null;
  countryCode: string | null;
  source: string | null;
  /** Whether a new channel is subscribed; null: as in the options. A no is in the opt-out ledger already. */
  subscribed: { email: boolean | null; phone: boolean | null };
  /** When a new channel opted in; null: now. */
  optedInAt: { email: Date | null; phone: Date | null };
  data: Record<string, unknown> | null;
}

export interface BulkOptions {
  /** Whether to change contacts that already exist. */
  updateExisting: boolean;
  /** Whether to subscribe new channels. Channels in the opt-out ledger are never subscribed. */
  subscribe: boolean;
  /** What creates the contacts: the source of the opt-ins, and of contacts that name none. */
  source: string;
  /** The import that creates the contacts. */
  importId: number;
}

export type BulkOutcome =
  { status: 'created' | 'updated' | 'unchanged'; id: number } | { status: 'failed'; problem: BulkProblem };

/**
 * `phone_conflict`: the phone number belongs to another contact than the email address. `email_conflict`: the contact
 * with the phone number has another email address. `data_too_large`: together with the data that the contact has.
 */
export type BulkProblem = 'phone_conflict' | 'email_conflict' | 'data_too_large';

/** A contact that has one of the addresses. */
export interface FoundContact {
  id: number;
  email_key: string | null;
  phone: string | null;
  /** The import that created it, if its addresses are still the same. */
  import_id: number | null;
}

/** The same, with what decides how the contact may be changed. */
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
