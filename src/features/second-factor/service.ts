import type pg from 'pg';
import { AppError, invalid, notFound, tooMany } from '../../errors.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import type { Keyring, SealedPlace } from '../../platform/secrets/keyring.ts';
import { countRecoveryCodes, replaceRecoveryCodes, takeRecoveryCode } from './recovery-codes.ts';
import type { SecondFactor } from './schema.ts';
import { CODE, generateSecret, secretText, secretUri, stepOf } from './totp.ts';

export interface SecondFactorDeps {
  /** A pool, because failed tries are counted in transactions of their own. */
  pool: pg.Pool;
  keyring: Keyring;
}

/** Failed tries before the second factor is locked, wherever they are made. */
const MAX_TRIES = 5;
const LOCK_MINUTES = 15;
const WRONG_CODE = 'the code is wrong or was already used';

const alreadyOn = () => new AppError('conflict', 'the second factor is on; turn it off first');

interface FactorRow {
  sealed: string;
  enabled: boolean;
  lastStep: number;
  failedTries: number;
  /** Null: not locked. */
  lockedSeconds: number | null;
  /** The database's clock, which all processes share. */
  seconds: number;
}

const placeOf = (userId: number): SealedPlace => ({
  table: 'second_factors',
  column: 'secret_sealed',
  row: userId,
  accountId: null,
});

/** Concurrent tries of a user wait for each other here, so that they get no more tries than consecutive ones. */
async function lockFactor(trx: Queryable, userId: number): Promise<FactorRow | null> {
  const { rows } = await trx.query<FactorRow>(
    `select secret_sealed as sealed, confirmed_at is not null as enabled, last_step as "lastStep",
       failed_tries as "failedTries",
       case when locked_until > clock_timestamp()
         then ceil(extract(epoch from locked_until - clock_timestamp()))::int end as "lockedSeconds",
       extract(epoch from clock_timestamp())::float8 as seconds
     from second_factors where user_id = $1 for update`,
    [userId],
  );
  return rows[0] ?? null;
}

function requireUnlocked({ lockedSeconds }: FactorRow): void {
  if (lockedSeconds === null) return;
  throw tooMany(`there were ${MAX_TRIES} wrong codes`, lockedSeconds);
}

/** Uses up a code of the app or, if these count, a recovery code. */
async function takeCode(
  trx: Queryable,
  { keyring }: SecondFactorDeps,
  userId: number,
  row: FactorRow,
  given: string,
): Promise<boolean> {
  const code = given.replaceAll(/\s/g, '');
  if (!CODE.test(code)) return row.enabled && takeRecoveryCode(trx, userId, code);
  const secret = Buffer.from(keyring.open(row.sealed, placeOf(userId)), 'base64url');
  const step = stepOf(secret, code, row);
  if (step === null) return false;
  await trx.query('update second_factors set last_step = $2 where user_id = $1', [userId, step]);
  return true;
}

async function countTry(trx: Queryable, userId: number, succeeded: boolean): Promise<void> {
  await trx.query(
    succeeded
      ? 'update second_factors set failed_tries = 0, locked_until = null where user_id = $1'
      : `update second_factors set failed_tries = (failed_tries + 1) % ${MAX_TRIES},
           locked_until = case when failed_tries + 1 >= ${MAX_TRIES}
             then clock_timestamp() + interval '${LOCK_MINUTES} minutes' end
         where user_id = $1`,
    [userId],
  );
}

/**
 * Checks the second factor of a user whose password is correct. Commits before it returns, so that a code is used up
 * and a failure is counted whatever happens to the request.
 * @param otp a code of the app, or a recovery code; undefined if the client sent none
 * @returns whether the user has a second factor; if so, the code was correct
 * @throws AppError `otp_required` if the user has one and the code is missing or wrong; `rate_limited` after
 *   {@link MAX_TRIES} failures
 */
export async function requireSecondFactor(
  deps: SecondFactorDeps,
  userId: number,
  otp: string | undefined,
): Promise<boolean> {
  const outcome = await inTransaction(deps.pool, async (trx) => {
    const row = await lockFactor(trx, userId);
    if (!row?.enabled) return 'none';
    if (otp === undefined) return 'missing';
    requireUnlocked(row);
    const correct = await takeCode(trx, deps, userId, row, otp);
    await countTry(trx, userId, correct);
    return correct ? 'correct' : 'wrong';
  });
  if (outcome === 'missing') {
    throw new AppError('otp_required', 'send the code of your authenticator app as otp');
  }
  if (outcome === 'wrong') throw new AppError('otp_required', WRONG_CODE);
  return outcome === 'correct';
}

export async function getSecondFactor(db: Queryable, userId: number): Promise<SecondFactor> {
  const { rowCount } = await db.query(
    'select 1 from second_factors where user_id = $1 and confirmed_at is not null',
    [userId],
  );
  return { enabled: rowCount === 1, recovery_codes_left: await countRecoveryCodes(db, userId) };
}

/**
 * Makes a secret, which replaces one that was not confirmed. Failed tries remain counted.
 * @returns the secret and its URI, which are shown once
 * @throws AppError conflict if the second factor is on
 */
export async function beginSecondFactor(
  db: Queryable,
  keyring: Keyring,
  user: { id: number; email: string },
): Promise<{ secret: string; uri: string }> {
  const secret = generateSecret();
  const { rowCount } = await db.query(
    `insert into second_factors as f (user_id, secret_sealed) values ($1, $2)
     on conflict (user_id) do update set secret_sealed = excluded.secret_sealed, last_step = 0, created_at = now()
       where f.confirmed_at is null`,
    [user.id, keyring.seal(secret.toString('base64url'), placeOf(user.id))],
  );
  if (rowCount === 0) throw alreadyOn();
  return { secret: secretText(secret), uri: secretUri(secret, user.email) };
}

/**
 * Turns the second factor on, once the user has proved to have the secret. Like {@link requireSecondFactor}, it counts
 * failures.
 * @param also what else to do in the transaction that turns it on
 * @throws AppError not_found without a secret; conflict if it is on; validation_error that names `otp`; rate_limited
 */
export async function confirmSecondFactor<T>(
  deps: SecondFactorDeps,
  userId: number,
  otp: string,
  also: (trx: pg.PoolClient) => Promise<T>,
): Promise<{ recoveryCodes: string[]; also: T }> {
  const turnedOn = await inTransaction(deps.pool, async (trx) => {
    const row = await lockFactor(trx, userId);
    if (!row) throw notFound('second factor');
    if (row.enabled) throw alreadyOn();
    requireUnlocked(row);
    const correct = await takeCode(trx, deps, userId, row, otp);
    await countTry(trx, userId, correct);
    if (!correct) return null;
    await trx.query('update second_factors set confirmed_at = now() where user_id = $1', [userId]);
    return { recoveryCodes: await replaceRecoveryCodes(trx, userId), also: await also(trx) };
  });
  if (turnedOn === null) throw invalid({ otp: [WRONG_CODE] });
  return turnedOn;
}

/** @throws AppError not_found */
export function requireOn(isOn: boolean): void {
  if (!isOn) throw notFound('second factor');
}

/** Replaces all recovery codes. @throws AppError not_found if the second factor is off */
export async function renewRecoveryCodes(trx: Queryable, userId: number): Promise<string[]> {
  const row = await lockFactor(trx, userId);
  requireOn(row?.enabled ?? false);
  return replaceRecoveryCodes(trx, userId);
}

/** Turns the second factor off. @returns whether it was on */
export async function removeSecondFactor(db: Queryable, userId: number): Promise<boolean> {
  const { rows } = await db.query<{ enabled: boolean }>(
    'delete from second_factors where user_id = $1 returning confirmed_at is not null as enabled',
    [userId],
  );
  return rows[0]?.enabled ?? false;
}
