/** What the rows of a chunk take away: subscriptions, and for bounces and complaints all mail of the account. */
import type { Channel } from '../../delivery/terms/message.ts';
import type { Withdrawal } from '../contacts/service.ts';
import type { RowConsent } from './consent/read-consent.ts';
import type { ImportRecord } from './model.ts';
import type { FailedRow, ImportRow } from './rows.ts';
import { type SuppressionGiven, suppress } from './suppression-rows.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

type Row = Pick<ImportRow | FailedRow, 'email' | 'phone' | 'consent'>;

/** The addresses of a row with what it says about them. */
function* addressesOf({
  email,
  phone,
  consent,
}: Row): Generator<{ channel: Channel; key: string } & RowConsent['email']> {
  if (email) yield { channel: 'email', key: email.key, ...consent.email };
  if (phone !== null) yield { channel: 'sms', key: phone, ...consent.phone };
}

const takesMail = ({ state }: RowConsent['email']): boolean => state !== null && state !== 'subscribed';

/** Whether the row makes a recipient get no more mail. */
export function stopsMailOf({ consent }: Row): boolean {
  return takesMail(consent.email) || takesMail(consent.phone);
}

/**
 * Returns the subscriptions that rows take away. Every row counts, even if it fails or repeats an address. Bounces take
 * one away only if they cannot suppress the address.
 */
export function withdrawalsOf(
  { may_suppress: maySuppress }: ImportRecord,
  rows: readonly Row[],
): Withdrawal[] {
  return rows.filter(stopsMailOf).flatMap((row) =>
    [...addressesOf(row)].flatMap(({ channel, key, state, optedOutAt: at }): Withdrawal[] => {
      if (state === null || state === 'subscribed') return [];
      const isNo =
        state === 'unsubscribed' || state === 'complained' || (state === 'bounced' && !maySuppress);
      return [{ channel, key, at, isNo }];
    }),
  );
}

/** Suppresses the addresses that have bounced or complained, if the import may. */
export async function suppressReported(
  trx: Queryable,
  record: ImportRecord,
  rows: readonly Row[],
): Promise<void> {
  if (!record.may_suppress) return;
  const given = rows.filter(stopsMailOf).flatMap((row) =>
    [...addressesOf(row)].flatMap(({ channel, key, reported }): SuppressionGiven[] => {
      if (reported === null) return [];
      return [
        {
          ...{ channel, key, diagnostic: null, expires_at: null },
          reason: reported === 'bounced' ? 'hard_bounce' : 'complaint',
        },
      ];
    }),
  );
  if (given.length > 0) await suppress(trx, record, given);
}
