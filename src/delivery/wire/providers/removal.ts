import { AppError } from '../../../errors.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { forgetSize } from '../../ledger/facts/provider-sizes.ts';
import type { ProviderRow } from './named.ts';

/** Counts of what still uses a provider. */
export interface ProviderUse {
  domains: number;
  smsSenders: number;
  /** Accounts that have it in their order of providers. */
  accounts: number;
  /** Messages waiting to be sent through it; at most 10,000 are counted. */
  messages: number;
}

const MAX_COUNTED = 10_000;

async function readUse(db: Queryable, id: number): Promise<ProviderUse> {
  const { rows } = await db.query<ProviderUse>(
    `select (select count(*)::int from domains where provider_id = $1) as domains,
       (select count(*)::int from sms_senders where provider_id = $1 and removed_at is null) as "smsSenders",
       (select count(*)::int from accounts
        where $1 = any(email_provider_ids) or $1 = any(sms_provider_ids)) as accounts,
       (select count(*)::int from (
          select from send_queue where provider_id = $1 limit ${MAX_COUNTED}) q)
         + (select coalesce(sum(size), 0)::int from campaign_blocks
            where provider_id = $1 and closed_at is null) as messages`,
    [id],
  );
  return rows[0] as ProviderUse;
}

function describeUse({ domains, smsSenders, accounts, messages }: ProviderUse): string {
  const parts: [number, string][] = [
    [domains, 'domain(s)'],
    [smsSenders, 'SMS sender(s)'],
    [accounts, 'account(s) in their order of providers'],
    [messages, 'queued message(s)'],
  ];
  return parts
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${count} ${what}`)
    .join(', ');
}

/**
 * Removes a provider. Its row stays, because messages name it. With `force`, its domains use the provider
 * of the settings from now on, its SMS senders are removed, and senders move its queued messages to another provider of
 * their account, or to that of the settings.
 * @param trx a transaction
 * @returns what used it
 * @throws AppError conflict if it is used and `force` is not given
 */
export async function removeProvider(
  trx: Queryable,
  { id, name }: Pick<ProviderRow, 'id' | 'name'>,
  { force }: { force: boolean },
): Promise<ProviderUse> {
  await trx.query('select from providers where id = $1 for update', [id]);
  const use = await readUse(trx, id);
  const text = describeUse(use);
  if (text !== '' && !force) {
    throw new AppError('conflict', `${name} is used by ${text}; --force removes it anyway, see --help`);
  }
  await trx.query('update providers set removed_at = now(), updated_at = now() where id = $1', [id]);
  // The records that the service asked for no longer matter, and Carillon signs again.
  await trx.query(
    `update domains set provider_id = null, provider_records = null, carillon_signs = true, updated_at = now()
     where provider_id = $1`,
    [id],
  );
  // A number belongs to its provider: no other provider could send from it.
  await trx.query('update sms_senders set removed_at = now() where provider_id = $1 and removed_at is null', [
    id,
  ]);
  await trx.query(
    `update accounts set email_provider_ids = nullif(array_remove(email_provider_ids, $1), '{}'),
       sms_provider_ids = nullif(array_remove(sms_provider_ids, $1), '{}')
     where $1 = any(email_provider_ids) or $1 = any(sms_provider_ids)`,
    [id],
  );
  await trx.query('delete from provider_outages where provider_id = $1', [id]);
  await forgetSize(trx, id);
  return use;
}
