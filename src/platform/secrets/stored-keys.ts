/**
 * The keys that hash opt-outs. What is hashed can never be hashed again under another key, so these keys must outlive
 * APP_SECRET: they are stored, sealed with the current one. The first is the one that earlier versions derive from the
 * APP_SECRET of the day it was stored, so that processes of both versions find each other's opt-outs.
 *
 * The row is also the proof that a process has the right secret. Without it, a process under another secret would
 * start, find no opt-out, and subscribe people who have opted out.
 */
import { z } from 'zod';
import { type Config, ConfigError, requireSettings } from '../../config.ts';
import type { Queryable } from '../db/queryable.ts';
import {
  createKeyring,
  type Keyring,
  sealedBy,
  type SealedPlace,
  type Subkey,
  UnsealError,
} from './keyring.ts';
import { countSealed, type SealedColumn } from './sealed-columns.ts';

/** What must open before the keys are stored for the first time. */
export interface FirstStore {
  /** Every column of sealed values. */
  sealed: readonly SealedColumn[];
  /** Ids of secrets that the operator has lost, and whose values may stay sealed. */
  lost?: readonly string[];
}

const PURPOSE = 'opt-out';
const place: SealedPlace = { table: 'stored_keys', column: 'keys_sealed', row: PURPOSE, accountId: null };

/** The column of this file. */
export const storedKeysColumn: SealedColumn = { table: 'stored_keys', column: 'keys_sealed', row: 'purpose' };

const storedKeys = z.array(
  z.object({ id: z.string(), key: z.string().transform((text) => Buffer.from(text, 'base64url')) }),
);

const UNDEFINED_TABLE = '42P01';

/** @returns null if nothing is stored yet; undefined if the migrations of this version have not been applied */
async function readSealed(db: Queryable): Promise<string | null | undefined> {
  try {
    const { rows } = await db.query<{ sealed: string }>(
      'select keys_sealed as sealed from stored_keys where purpose = $1',
      [PURPOSE],
    );
    return rows[0]?.sealed ?? null;
  } catch (error) {
    if ((error as { code?: string }).code !== UNDEFINED_TABLE) throw error;
    return undefined;
  }
}

function openStored(derived: Keyring, sealed: string): Subkey[] {
  const by = sealedBy(sealed);
  if (!derived.accepted('at-rest').some(({ id }) => id === by)) {
    throw new ConfigError(
      `APP_SECRET is not the secret of this database, which was last started with another one (${by}): set APP_SECRET to that secret, or add it to APP_SECRET_PREVIOUS`,
    );
  }
  try {
    return storedKeys.parse(JSON.parse(derived.open(sealed, place)));
  } catch (error) {
    if (error instanceof UnsealError) throw new ConfigError(error.message, { cause: error });
    throw error;
  }
}

/** Refuses secrets that do not open what earlier versions have sealed: they would store the wrong keys for ever. */
async function requireKnown(
  db: Queryable,
  derived: Keyring,
  { sealed, lost = [] }: FirstStore,
): Promise<void> {
  const known = new Set([...derived.accepted('at-rest').map(({ id }) => id), ...lost]);
  const unknown = (await countSealed(db, sealed)).filter(({ secret }) => !known.has(secret));
  if (unknown.length === 0) return;
  const tables = [...new Set(unknown.map(({ table }) => table))].join(', ');
  const ids = [...new Set(unknown.map(({ secret }) => secret))];
  throw new ConfigError(
    `APP_SECRET is not the secret of this database: another one (${ids.join(', ')}) has sealed values in ${tables}; add it to APP_SECRET_PREVIOUS or, if it is lost with all opt-outs of its time, run carillon migrate ${ids.map((each) => `--lost-secret ${each}`).join(' ')}`,
  );
}

/** The stored keys, and those of secrets that are not among them: an earlier version may hash with any of these. */
function joinKeys(stored: readonly Subkey[], derived: Keyring): Subkey[] {
  const byId = new Map(stored.map((key) => [key.id, key]));
  for (const key of derived.accepted(PURPOSE)) if (!byId.has(key.id)) byId.set(key.id, key);
  return [...byId.values()];
}

/** @returns whether it was stored: no other process has changed the row since `before` was read */
async function store(
  db: Queryable,
  derived: Keyring,
  keys: readonly Subkey[],
  before: string | null,
): Promise<boolean> {
  const texts = keys.map(({ id, key }) => ({ id, key: key.toString('base64url') }));
  const sealed = derived.seal(JSON.stringify(texts), place);
  const { rowCount } =
    before === null
      ? await db.query(
          'insert into stored_keys (purpose, keys_sealed) values ($1, $2) on conflict do nothing',
          [PURPOSE, sealed],
        )
      : await db.query(
          'update stored_keys set keys_sealed = $2, updated_at = now() where purpose = $1 and keys_sealed = $3',
          [PURPOSE, sealed, before],
        );
  return rowCount === 1;
}

/** @param stored by default all keys are derived */
function keyringOf(config: Config, stored?: readonly Subkey[]): Keyring {
  return createKeyring(requireSettings(config, 'APP_SECRET').APP_SECRET, config.APP_SECRET_PREVIOUS, stored);
}

/**
 * Returns the keyring of a command. Changes nothing, and also works before the migrations of this version.
 * @param first called if the keys are not stored yet
 * @throws ConfigError if the database does not know the secrets, or without APP_SECRET
 */
export async function readKeyring(
  db: Queryable,
  config: Config,
  first: () => Promise<FirstStore>,
): Promise<Keyring> {
  const derived = keyringOf(config);
  const sealed = await readSealed(db);
  if (sealed) return keyringOf(config, joinKeys(openStored(derived, sealed), derived));
  await requireKnown(db, derived, await first());
  return derived;
}

/**
 * Returns the keyring of a role. Stores the keys of opt-outs if they are not, adds those of further secrets, and seals
 * them with APP_SECRET. Several processes may do this at the same time.
 * @throws ConfigError if the database does not know the secrets or is not migrated; nothing has changed then
 */
export async function openKeyring(db: Queryable, config: Config, first: FirstStore): Promise<Keyring> {
  const derived = keyringOf(config);
  for (;;) {
    const sealed = await readSealed(db);
    if (sealed === undefined) {
      throw new ConfigError('the database has not been migrated to this version: run carillon migrate');
    }
    if (sealed === null) await requireKnown(db, derived, first);
    const stored = sealed === null ? [] : openStored(derived, sealed);
    const keys = joinKeys(stored, derived);
    const isCurrent =
      sealed !== null && sealedBy(sealed) === derived.subkey('at-rest').id && keys.length === stored.length;
    if (isCurrent || (await store(db, derived, keys, sealed))) return keyringOf(config, keys);
  }
}
