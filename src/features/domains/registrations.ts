/** What was registered with named providers, so that it is bounded, and removed with the domain. */
import type pg from 'pg';
import { invalid } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import type { Waker } from '../../platform/db/wake.ts';
import { appendToOutbox } from '../../platform/outbox/append.ts';
import type { DomainRow } from './model.ts';
import { type ProviderAccess, removeFromProvider } from './provider.ts';
import { type WatchedDomain, watchWake } from './workflow.ts';

/**
 * The most names of an account that are registered with named providers although nobody has proved them. The accounts of
 * services allow a limited number of domains, and all customers share them.
 */
export const MAX_UNPROVED_NAMES = 25;

/** First key of the advisory lock under which an account's registrations are counted. */
const COUNT_LOCK = 1_919_247_220;

/**
 * Notes that a new domain is to be registered with its named provider.
 * @param trx the transaction that inserts the domain
 * @throws AppError validation_error if too many names of the account are not proved. A deleted one counts for a day
 */
export async function beginRegistration(
  trx: Queryable,
  { accountId }: Pick<Tenant, 'accountId'>,
  { id, name, provider_id: providerId }: Pick<DomainRow, 'id' | 'name' | 'provider_id'>,
): Promise<void> {
  if (providerId === null) return;
  await trx.query('select pg_advisory_xact_lock($1, $2)', [COUNT_LOCK, accountId % 2_147_483_647]);
  const { rows } = await trx.query<{ count: number }>(
    `select count(*)::int as count from provider_registrations r left join domains d on d.id = r.domain_id
     where r.account_id = $1 and case
       when d.id is null then not r.proved and r.deleted_at > now() - interval '1 day'
       else d.status <> 'verified' and d.lost_at is null end`,
    [accountId],
  );
  if ((rows[0]?.count ?? 0) >= MAX_UNPROVED_NAMES) {
    throw invalid({
      'domain.name': [
        `is one too many: at most ${MAX_UNPROVED_NAMES} domains of an account may wait for their verification at a ` +
          'named provider; deleted ones count for a day',
      ],
    });
  }
  await trx.query(
    'insert into provider_registrations (domain_id, account_id, provider_id, name) values ($1, $2, $3, $4)',
    [id, accountId, providerId, name],
  );
}

/** Notes that a domain is deleted. @param trx the transaction that deletes it */
export async function endRegistration(
  trx: Queryable,
  row: Pick<DomainRow, 'id' | 'status' | 'lost_at'>,
): Promise<void> {
  await trx.query('update provider_registrations set deleted_at = now(), proved = $2 where domain_id = $1', [
    row.id,
    row.status === 'verified' || row.lost_at !== null,
  ]);
}

/** Notes that Carillon has made the registration of a domain, which may have been deleted meanwhile. */
export async function noteCreated(
  db: Queryable,
  row: Pick<DomainRow, 'id' | 'account_id' | 'provider_id' | 'name'>,
): Promise<void> {
  await db.query(
    `insert into provider_registrations (domain_id, account_id, provider_id, name, created)
     values ($1, $2, $3, $4, true) on conflict (domain_id) do update set created = true`,
    [row.id, row.account_id, row.provider_id, row.name],
  );
}

interface Registration {
  provider_id: number;
  name: string;
}

/** Leaves the registration of a deleted domain to another domain of its name and provider. @returns whether there is one */
async function leaveToOther(db: Queryable, domainId: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `with other as (
       select d.id, d.account_id, d.provider_id, d.name
       from provider_registrations r join domains d on d.provider_id = r.provider_id and d.name = r.name
       where r.domain_id = $1 and d.id <> $1 order by d.id limit 1
     ), left_to as (
       insert into provider_registrations (domain_id, account_id, provider_id, name, created)
       select id, account_id, provider_id, name, true from other
       on conflict (domain_id) do update set created = true returning 1
     )
     update provider_registrations set created = false where domain_id = $1 and exists (select from left_to)`,
    [domainId],
  );
  return rowCount !== 0;
}

/** Domains of the name that were made while it was removed are registered again. */
async function registerAgain(trx: Queryable, { provider_id: providerId, name }: Registration): Promise<void> {
  const { rows } = await trx.query<WatchedDomain>(
    `update domains set provider_records = null, next_check_at = now(), updated_at = now()
     where provider_id = $1 and name = $2 and provider_records is not null
     returning id, account_id as "accountId", brand_id as "brandId"`,
    [providerId, name],
  );
  for (const domain of rows) await appendToOutbox(trx, watchWake(domain));
}

export interface UnregisterDeps {
  pool: pg.Pool;
  access: ProviderAccess;
  waker: Pick<Waker, 'wake'>;
}

/** Creates `DomainWatch.unregister`. */
export function createUnregister({ pool, access, waker }: UnregisterDeps) {
  return async (domainId: number): Promise<void> => {
    const { rows } = await pool.query<Registration>(
      'select provider_id, name from provider_registrations where domain_id = $1 and created',
      [domainId],
    );
    const [registration] = rows;
    if (!registration || (await leaveToOther(pool, domainId))) return;
    await removeFromProvider(access, registration);
    await inTransaction(pool, async (trx) => {
      await trx.query('update provider_registrations set created = false where domain_id = $1', [domainId]);
      await registerAgain(trx, registration);
    });
    waker.wake('outbox');
  };
}
