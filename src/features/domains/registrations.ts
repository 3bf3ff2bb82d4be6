/**
 * Keeps track of registrations at named providers, so that their number is limited and they are removed with the
 * domain.
 */
import type pg from 'pg';
import { invalid } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import type { Waker } from '../../platform/db/wake.ts';
import { appendToOutbox } from '../../platform/outbox/append.ts';
import type { DomainRow } from './model.ts';
import { type ProviderAccess, type RegistrationNotes, removeFromProvider } from './provider.ts';
import { type WatchedDomain, watchWake } from './workflow.ts';

/**
 * Maximum number of an account's names that are registered with named providers although they were never proved. The
 * accounts of services allow a limited number of domains, which all customers share.
 */
export const MAX_UNPROVED_NAMES = 25;

/** First key of the advisory lock under which an account's registrations are counted. */
const COUNT_LOCK = 1_919_247_220;

/**
 * Records that a new domain is to be registered with its named provider.
 * @param trx the transaction that inserts the domain
 * @throws AppError validation_error if the account has too many unproved names. A deleted one counts for a day
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

/**
 * Records that a domain is deleted.
 * @param trx the transaction that deletes it
 */
export async function endRegistration(
  trx: Queryable,
  row: Pick<DomainRow, 'id' | 'status' | 'lost_at'>,
): Promise<void> {
  await trx.query('update provider_registrations set deleted_at = now(), proved = $2 where domain_id = $1', [
    row.id,
    row.status === 'verified' || row.lost_at !== null,
  ]);
}

type RegisteredDomain = Pick<DomainRow, 'id' | 'account_id' | 'provider_id' | 'name'>;

/**
 * Records that Carillon is about to register a domain that the service does not have. If this process then ends or gets
 * no response, nothing more is recorded, and a registration that exists later was made by Carillon.
 */
async function noteCreating(db: Queryable, row: RegisteredDomain): Promise<void> {
  await db.query(
    `insert into provider_registrations (domain_id, account_id, provider_id, name, creating)
     values ($1, $2, $3, $4, true) on conflict (domain_id) do update set creating = true`,
    [row.id, row.account_id, row.provider_id, row.name],
  );
}

/** Records that the service has a domain, which may have been deleted meanwhile. */
async function noteRegistered(db: Queryable, row: RegisteredDomain, isNew: boolean): Promise<void> {
  await db.query(
    `update provider_registrations set created = created or creating or $2, creating = false
     where domain_id = $1 and (creating or $2 and not created)`,
    [row.id, isNew],
  );
}

/** Records that the service has refused a domain, so that nothing was registered. */
async function noteRefused(db: Queryable, { id }: RegisteredDomain): Promise<void> {
  await db.query('update provider_registrations set creating = false where domain_id = $1', [id]);
}

/** Creates the notes of one attempt to register a domain. */
export function createNotes(db: Queryable, row: RegisteredDomain): RegistrationNotes {
  let began = false;
  return {
    async creating() {
      began = true;
      await noteCreating(db, row);
    },
    registered: (isNew) => noteRegistered(db, row, isNew),
    // If the service refuses the look-up, it may still have the domain from an earlier attempt.
    async refused() {
      if (began) await noteRefused(db, row);
    },
  };
}

/** A name at the services of one kind of provider. Two providers of a kind may use the same account at the service. */
interface NameAtKind {
  name: string;
  kind: string;
}

async function findNameAtKind(db: Queryable, domainId: number): Promise<NameAtKind | null> {
  const { rows } = await db.query<NameAtKind>(
    `select r.name, p.kind from provider_registrations r join providers p on p.id = r.provider_id
     where r.domain_id = $1`,
    [domainId],
  );
  return rows[0] ?? null;
}

/** SQL: the providers of kind `$2`. */
const PROVIDERS_OF_KIND = 'select id from providers where kind = $2 and removed_at is null';

async function isUsed(db: Queryable, { name, kind }: NameAtKind): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from domains where name = $1 and provider_id in (${PROVIDERS_OF_KIND}) limit 1`,
    [name, kind],
  );
  return rowCount !== 0;
}

interface Registration {
  domain_id: number;
  provider_id: number;
  name: string;
}

/** Finds the registrations that Carillon made for deleted domains of a name, this domain's first. */
async function findLeft(
  db: Queryable,
  { name, kind }: NameAtKind,
  domainId: number,
): Promise<Registration[]> {
  const { rows } = await db.query<Registration>(
    `select r.domain_id, r.provider_id, r.name from provider_registrations r
     join providers p on p.id = r.provider_id
     where r.name = $1 and p.kind = $2 and (r.created or r.creating)
       and not exists (select from domains d where d.id = r.domain_id)
     order by r.domain_id <> $3, r.domain_id`,
    [name, kind, domainId],
  );
  return rows;
}

/** Registers domains again that were created with the name while it was being removed. */
async function registerAgain(trx: Queryable, { name, kind }: NameAtKind): Promise<void> {
  const { rows } = await trx.query<WatchedDomain>(
    `update domains set provider_records = null, next_check_at = now(), updated_at = now()
     where name = $1 and provider_id in (${PROVIDERS_OF_KIND}) and provider_records is not null
     returning id, account_id as "accountId", brand_id as "brandId"`,
    [name, kind],
  );
  for (const domain of rows) await appendToOutbox(trx, watchWake(domain));
}

export interface UnregisterDeps {
  pool: pg.Pool;
  access: ProviderAccess;
  waker: Pick<Waker, 'wake'>;
}

/**
 * Creates `DomainWatch.unregister`. While any domain has the name at a provider of the same kind, all registrations
 * stay, because its mail may use them. The deletion of the last such domain removes them.
 */
export function createUnregister({ pool, access, waker }: UnregisterDeps) {
  return async (domainId: number): Promise<void> => {
    const at = await findNameAtKind(pool, domainId);
    if (!at || (await isUsed(pool, at))) return;
    for (const registration of await findLeft(pool, at, domainId)) {
      await removeFromProvider(access, registration);
      await inTransaction(pool, async (trx) => {
        await trx.query(
          'update provider_registrations set created = false, creating = false where domain_id = $1',
          [registration.domain_id],
        );
        await registerAgain(trx, at);
      });
      waker.wake('outbox');
    }
  };
}
