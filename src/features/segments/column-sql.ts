import { suppressedSql } from '../../delivery/ledger/consent/suppressions.ts';
import type { ColumnName, Test } from './language.ts';

export const columnSql: Record<
  Exclude<ColumnName, 'last_interacted_at' | 'verification_status' | 'email_verdict'>,
  string
> = {
  id: 'c.id',
  first_name: 'c.first_name',
  last_name: 'c.last_name',
  email: 'c.email',
  phone: 'c.phone',
  source: 'c.source',
  country_code: 'c.country_code',
  subscribed_email: '(c.email is not null and c.email_subscribed)',
  subscribed_phone: '(c.phone is not null and c.phone_subscribed)',
  enrichment_status: `case when c.enriched_at is null then 'not_enriched' else 'enriched' end`,
  email_opt_in_at: 'c.email_opt_in_at',
  email_opt_out_at: 'c.email_opt_out_at',
  phone_opt_in_at: 'c.phone_opt_in_at',
  phone_opt_out_at: 'c.phone_opt_out_at',
  created_at: 'c.created_at',
  updated_at: 'c.updated_at',
};

/** SQL: whether one of the contact's addresses has an active suppression. Each half can be hashed for many contacts. */
const suppressed = `(${['c.email_key', 'c.phone']
  .map((key) => suppressedSql({ account: 'c.account_id', key }))
  .join(' or ')})`;

const verificationSql: Record<string, string> = {
  suppressed,
  verified: `((c.email_verified or c.phone_verified) and not ${suppressed})`,
  unverified: `(not c.email_verified and not c.phone_verified and not ${suppressed})`,
};

export function verification(test: Test): string {
  if (test.type !== 'text' || test.match !== 'equal') throw new Error('a status is only compared');
  return `(${test.values.map((value) => verificationSql[value] ?? 'false').join(' or ')})`;
}

const textColumns = ['first_name', 'last_name', 'email', 'phone', 'source', 'country_code'];

export const columnIsText = (column: string) => textColumns.some((name) => column === `c.${name}`);
