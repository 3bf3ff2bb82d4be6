import { createHash, randomBytes } from 'node:crypto';
import type { z } from 'zod';
import { AppError, invalid, issueMessage, type ValidationErrors } from '../../../errors.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { type Keyring, type SealedPlace, UnsealError } from '../../../platform/secrets/keyring.ts';
import { forgetSize } from '../../ledger/facts/provider-sizes.ts';
import { DEFAULT_PROVIDER } from '../../terms/backlog.ts';
import type { Channel } from '../../terms/message.ts';
import type { ProviderKind } from '../adapters/kind.ts';
import { providerKind, providerKinds, providers } from './index.ts';

/** The settings of a provider of any kind, by name. */
export type ProviderSettings = Record<string, unknown>;

/** A provider that an operator added with `carillon provider add`: a row of `providers`. */
export interface ProviderRow {
  id: number;
  name: string;
  kind: string;
  channel: Channel;
  settingsSealed: string;
  callbackTokenSealed: string;
  /** SHA-256 of the callback token, see {@link callbackDigest}. */
  callbackDigest: Buffer;
  /** The accounts whose domains may name it; null: all. */
  accountIds: number[] | null;
  createdAt: Date;
  updatedAt: Date;
}

/** A named provider with its settings decrypted and parsed. */
export interface NamedProvider {
  id: number;
  /** Unique; stored as `provider` of its messages. */
  name: string;
  channel: Channel;
  kind: ProviderKind;
  /** The result of `kind.settings`. */
  settings: ProviderSettings;
  /** The last segment of its callback URL's path. It is a secret: knowing it allows reporting on its messages. */
  callbackToken: string;
  /** The accounts whose domains may name it; null: all. */
  accountIds: number[] | null;
  createdAt: Date;
  updatedAt: Date;
}

/** This process cannot use a row. The message gives the reason to the operator and contains no secret. */
export class UnusableProviderError extends Error {}

/** The names of the providers that the settings define, and keywords of the command line. */
const RESERVED_NAMES = [...providers.filter(({ url }) => url).map(({ name }) => name), 'default', 'none'];
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const TOKEN_BYTES = 32;
/** A token has 43 characters. Longer texts are not looked up. */
const MAX_TOKEN_LENGTH = 100;
const UNIQUE_VIOLATION = '23505';

const COLUMNS = `id, name, kind, channel, settings_sealed as "settingsSealed",
  callback_token_sealed as "callbackTokenSealed", callback_digest as "callbackDigest", account_ids as "accountIds",
  created_at as "createdAt", updated_at as "updatedAt"`;

function placeOf(column: 'settings_sealed' | 'callback_token_sealed', id: number): SealedPlace {
  return { table: 'providers', column, row: id, accountId: null };
}

/** The digest by which a callback token is looked up. */
export function callbackDigest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** What is wrong with the settings, by name. */
function settingErrors(issues: readonly z.core.$ZodIssue[]): ValidationErrors {
  const errors: ValidationErrors = {};
  for (const issue of issues) {
    const names = issue.code === 'unrecognized_keys' ? issue.keys : [issue.path.join('.') || 'settings'];
    const message = issue.code === 'unrecognized_keys' ? 'is not a setting of this kind' : issue.message;
    for (const name of names) errors[name] = [...(errors[name] ?? []), message];
  }
  return errors;
}

/**
 * Checks the settings of a provider.
 * @throws AppError validation_error that names every invalid setting
 */
export function parseProviderSettings(kind: ProviderKind, given: ProviderSettings): ProviderSettings {
  const parsed = kind.settings.safeParse(given, { error: issueMessage });
  if (!parsed.success) throw invalid(settingErrors(parsed.error.issues));
  return parsed.data as ProviderSettings;
}

/** @throws AppError validation_error if there is no such kind */
export function requireProviderKind(name: string): ProviderKind {
  const kind = providerKind(name);
  if (kind) return kind;
  const known = providerKinds.map((each) => each.name).join(', ');
  throw invalid({ kind: [`must be one of: ${known}`] });
}

function checkName(name: string): void {
  if (!NAME.test(name)) {
    throw invalid({ name: ['must have 1 to 63 lower-case letters, digits and hyphens'] });
  }
  if (RESERVED_NAMES.includes(name)) throw invalid({ name: ['is reserved'] });
}

/** The settings of a row as they were given. @throws UnsealError */
export function storedSettings({ id, settingsSealed }: ProviderRow, keyring: Keyring): ProviderSettings {
  return JSON.parse(keyring.open(settingsSealed, placeOf('settings_sealed', id))) as ProviderSettings;
}

/**
 * Reads the settings of a row.
 * @throws UnusableProviderError if its kind is unknown, or its settings cannot be decrypted or are no longer valid
 */
export function openProvider(row: ProviderRow, keyring: Keyring): NamedProvider {
  const { id, name, channel, accountIds, createdAt, updatedAt } = row;
  const kind = providerKind(row.kind);
  if (!kind)
    throw new UnusableProviderError(`provider ${name}: this version of Carillon has no kind ${row.kind}`);
  try {
    const settings = parseProviderSettings(kind, storedSettings(row, keyring));
    const callbackToken = keyring.open(row.callbackTokenSealed, placeOf('callback_token_sealed', id));
    return { id, name, channel, kind, settings, callbackToken, accountIds, createdAt, updatedAt };
  } catch (error) {
    if (!(error instanceof UnsealError || error instanceof AppError)) throw error;
    throw new UnusableProviderError(`provider ${name}: ${error.message}`, { cause: error });
  }
}

async function findRow(db: Queryable, condition: string, value: unknown): Promise<ProviderRow | null> {
  const { rows } = await db.query<ProviderRow>(
    `select ${COLUMNS} from providers where removed_at is null and ${condition}`,
    [value],
  );
  return rows[0] ?? null;
}

/** Lists all providers that are not removed, ordered by name. */
export async function listProviderRows(db: Queryable): Promise<ProviderRow[]> {
  const { rows } = await db.query<ProviderRow>(
    `select ${COLUMNS} from providers where removed_at is null order by name`,
  );
  return rows;
}

/**
 * Finds a provider by its name or its id.
 * @returns null if there is none, or it was removed
 */
export function findProviderRow(db: Queryable, provider: string | number): Promise<ProviderRow | null> {
  return findRow(db, typeof provider === 'string' ? 'name = $1' : 'id = $1', provider);
}

/**
 * Finds a provider by its name or its id.
 * @returns null if there is none, or it was removed
 * @throws UnusableProviderError if its settings cannot be read
 */
export async function findProvider(
  db: Queryable,
  keyring: Keyring,
  provider: string | number,
): Promise<NamedProvider | null> {
  const row = await findProviderRow(db, provider);
  return row && openProvider(row, keyring);
}

/**
 * Finds the provider of a callback URL.
 * @param kind from the path of the URL
 * @param token from the path of the URL, as a stranger sent it
 * @returns null if there is none, or it was removed
 * @throws UnusableProviderError if its settings cannot be read
 */
export async function findProviderByCallback(
  db: Queryable,
  keyring: Keyring,
  kind: string,
  token: string,
): Promise<NamedProvider | null> {
  if (token.length > MAX_TOKEN_LENGTH) return null;
  const row = await findRow(db, 'callback_digest = $1', callbackDigest(token));
  return row?.kind === kind ? openProvider(row, keyring) : null;
}

export interface NewProvider {
  name: string;
  kind: ProviderKind;
  settings: ProviderSettings;
  /** The accounts whose domains may name it; all by default. */
  accountIds?: readonly number[] | null;
}

/**
 * Returns the ids in ascending order, without duplicates.
 * @throws AppError validation_error if an account does not exist
 */
async function knownAccounts(db: Queryable, ids: readonly number[] | null): Promise<number[] | null> {
  if (ids === null) return null;
  const { rows } = await db.query<{ id: number }>(
    'select id from accounts where id = any($1::bigint[]) order by id',
    [ids],
  );
  const known = rows.map(({ id }) => id);
  const unknown = ids.find((id) => !known.includes(id));
  if (unknown !== undefined) throw invalid({ account: [`is unknown: there is no account ${unknown}`] });
  return known;
}

/**
 * Adds a provider, with a new callback token.
 * @throws AppError validation_error if the name or a setting is invalid; conflict if the name is taken
 */
export async function addProvider(
  db: Queryable,
  keyring: Keyring,
  { name, kind, settings, accountIds: given = null }: NewProvider,
): Promise<NamedProvider> {
  checkName(name);
  // The settings are stored as they were given, and parsed whenever they are read.
  const parsed = parseProviderSettings(kind, settings);
  const accountIds = await knownAccounts(db, given);
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const { rows } = await db.query<{ id: number }>(
    `select nextval(pg_get_serial_sequence('providers', 'id')) as id`,
  );
  const id = rows[0]?.id as number;
  const values = [
    id,
    name,
    kind.name,
    kind.channel,
    keyring.seal(JSON.stringify(settings), placeOf('settings_sealed', id)),
    keyring.seal(token, placeOf('callback_token_sealed', id)),
    callbackDigest(token),
    accountIds,
  ];
  try {
    const added = await db.query<{ createdAt: Date }>(
      `insert into providers (id, name, kind, channel, settings_sealed, callback_token_sealed, callback_digest,
         account_ids)
       values ($1, $2, $3, $4, $5, $6, $7, $8) returning created_at as "createdAt"`,
      values,
    );
    const createdAt = added.rows[0]?.createdAt as Date;
    const { channel } = kind;
    return {
      id,
      name,
      channel,
      kind,
      settings: parsed,
      callbackToken: token,
      accountIds,
      createdAt,
      updatedAt: createdAt,
    };
  } catch (error) {
    if ((error as { code?: string }).code !== UNIQUE_VIOLATION) throw error;
    throw new AppError('conflict', `a provider named ${name} already exists`);
  }
}

/** How many things of other accounts still send through a reserved provider. */
export interface UsesOfOthers {
  domains: number;
  /** Accounts whose order of providers names it. */
  orders: number;
  smsSenders: number;
}

/**
 * Reserves a provider: from now on only these accounts may name it. What already uses it continues to.
 * @param given null: all accounts
 * @throws AppError validation_error if an account does not exist
 */
export async function reserveProvider(
  db: Queryable,
  { id }: Pick<NamedProvider, 'id'>,
  given: readonly number[] | null,
): Promise<UsesOfOthers> {
  const { rows } = await db.query<UsesOfOthers>(
    `with reserved as (update providers set account_ids = $2 where id = $1 and removed_at is null)
     select
       (select count(*) from domains where provider_id = $1 and account_id <> all($2::bigint[]))::int as domains,
       (select count(*) from accounts where id <> all($2::bigint[])
          and ($1 = any(email_provider_ids) or $1 = any(sms_provider_ids)))::int as orders,
       (select count(*) from sms_senders
        where provider_id = $1 and removed_at is null and account_id <> all($2::bigint[]))::int as "smsSenders"`,
    [id, await knownAccounts(db, given)],
  );
  return rows[0] ?? { domains: 0, orders: 0, smsSenders: 0 };
}

/**
 * Reads an account's order of providers: names, or `default` for the provider of the settings.
 * @returns their ids; null for the provider of the settings alone
 * @throws AppError validation_error if a name is unknown, is a provider of the other channel, or is reserved for other
 *   accounts
 */
export async function readProviderOrder(
  db: Queryable,
  accountId: number,
  channel: Channel,
  names: readonly string[],
): Promise<number[] | null> {
  const rows = await listProviderRows(db);
  const ids = names.map((name) => {
    if (name === 'default') return DEFAULT_PROVIDER;
    const row = rows.find((each) => each.name === name && each.channel === channel && isFor(each, accountId));
    if (!row)
      throw invalid({ [`${channel}-providers`]: [`names ${name}, which is not an ${channel} provider`] });
    return row.id;
  });
  const order = [...new Set(ids)];
  return order.length === 1 && order[0] === DEFAULT_PROVIDER ? null : order;
}

function isFor({ accountIds }: ProviderRow, accountId: number): boolean {
  return accountIds === null || accountIds.includes(accountId);
}

/**
 * Returns the URL to which the service reports. It is a secret.
 * @param publicUrl the setting PUBLIC_URL
 * @returns null if the service has no callbacks, or PUBLIC_URL is not set
 */
export function callbackUrlOf(
  { kind, callbackToken }: Pick<NamedProvider, 'kind' | 'callbackToken'>,
  publicUrl: string | undefined,
): string | null {
  if (!kind.callbacks || publicUrl === undefined) return null;
  return `${publicUrl}/callbacks/${kind.name}/${callbackToken}`;
}

/**
 * Replaces the settings of a provider. Senders and callbacks use the new ones within seconds.
 * @throws AppError validation_error if a setting is invalid; not_found if the provider was removed
 */
export async function changeProviderSettings(
  db: Queryable,
  keyring: Keyring,
  { id, kind }: Pick<NamedProvider, 'id' | 'kind'>,
  settings: ProviderSettings,
): Promise<void> {
  parseProviderSettings(kind, settings);
  const { rowCount } = await db.query(
    `update providers set settings_sealed = $2, updated_at = now() where id = $1 and removed_at is null`,
    [id, keyring.seal(JSON.stringify(settings), placeOf('settings_sealed', id))],
  );
  if (rowCount === 0) throw new AppError('not_found', 'the provider was removed');
  await forgetSize(db, id);
}
