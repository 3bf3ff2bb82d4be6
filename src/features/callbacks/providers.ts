import type { Logger } from 'pino';
import {
  callbackDigest,
  listProviderRows,
  type NamedProvider,
  openProvider,
  type ProviderRow,
  UnusableProviderError,
} from '../../delivery/wire/providers/named.ts';
import { AppError } from '../../errors.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';

/** Maximum age of the cached list of providers for a token that is in it. */
const MAX_AGE_MS = 2_000;
/** Maximum age of the list for an unknown token. It bounds the rate of queries that strangers can cause. */
const MAX_AGE_OF_MISS_MS = 500;

/** Finds the provider of a callback URL. */
export interface CallbackProviders {
  /**
   * @returns null if there is none, or it was removed
   * @throws AppError unavailable if its settings cannot be read: the provider then retries the callback
   */
  find(kind: string, token: string): Promise<NamedProvider | null>;
}

interface Known {
  row: ProviderRow;
  /** null: this process cannot use the row. */
  provider: NamedProvider | null;
}

interface Snapshot {
  byToken: Map<string, Known>;
  readAtMs: number;
}

/** Tokens are looked up by their digests, so the duration of a lookup reveals nothing about a token. */
const keyOf = (kind: string, digest: Buffer) => `${kind} ${digest.toString('base64')}`;

/**
 * Caches the list of all providers in memory for some seconds. There are few of them, and so an unknown token costs no
 * query, and takes as long as any other.
 * @param nowMs a monotonic clock
 */
export function createCallbackProviders(
  db: Queryable,
  keyring: Keyring,
  log: Logger,
  nowMs: () => number = () => performance.now(),
): CallbackProviders {
  let opened: Known[] = [];
  let snapshot: Snapshot | null = null;
  let reading: Promise<Snapshot> | null = null;

  /** Decrypts a row, unless it is unchanged. */
  function open(row: ProviderRow): Known {
    const before = opened.find((each) => each.row.id === row.id);
    if (before?.row.settingsSealed === row.settingsSealed) return before;
    try {
      return { row, provider: openProvider(row, keyring) };
    } catch (error) {
      if (!(error instanceof UnusableProviderError)) throw error;
      log.error({ err: error, provider: row.name }, 'provider unusable: its callbacks get 503');
      return { row, provider: null };
    }
  }

  async function read(): Promise<Snapshot> {
    const readAtMs = nowMs();
    opened = (await listProviderRows(db)).map(open);
    const byToken = new Map(opened.map((known) => [keyOf(known.row.kind, known.row.callbackDigest), known]));
    snapshot = { byToken, readAtMs };
    return snapshot;
  }

  function newer(): Promise<Snapshot> {
    reading ??= read().finally(() => {
      reading = null;
    });
    return reading;
  }

  const notOlder = (maxAgeMs: number) =>
    snapshot !== null && nowMs() - snapshot.readAtMs < maxAgeMs ? snapshot : null;

  return {
    async find(kind, token) {
      const key = keyOf(kind, callbackDigest(token));
      let known = (notOlder(MAX_AGE_MS) ?? (await newer())).byToken.get(key);
      known ??= (notOlder(MAX_AGE_OF_MISS_MS) ?? (await newer())).byToken.get(key);
      if (!known) return null;
      if (!known.provider) throw new AppError('unavailable', 'the provider cannot be used right now');
      return known.provider;
    },
  };
}
