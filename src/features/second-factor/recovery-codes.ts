import { hash, randomBytes } from 'node:crypto';
import type { Queryable } from '../../platform/db/queryable.ts';
import { base32 } from '../../platform/secrets/base32.ts';

const CODES = 10;
/** 80 bits: a plain hash is enough, because they cannot all be tried. */
const CODE_BYTES = 10;
const GROUP = /.{4}(?=.)/g;

/** People may type a code in any case, and with other separators or none. */
function digestOf(code: string): Buffer {
  return hash('sha256', code.toLowerCase().replaceAll(/[^a-z2-7]/g, ''), 'buffer');
}

/**
 * Replaces the recovery codes of a user.
 * @param trx a transaction that has locked the user's second factor
 * @returns the codes, which are shown once: `abcd-efgh-ijkl-mnop`
 */
export async function replaceRecoveryCodes(trx: Queryable, userId: number): Promise<string[]> {
  const codes = Array.from({ length: CODES }, () => base32(randomBytes(CODE_BYTES)).replaceAll(GROUP, '$&-'));
  await trx.query('delete from recovery_codes where user_id = $1', [userId]);
  await trx.query('insert into recovery_codes (user_id, digest) select $1, unnest($2::bytea[])', [
    userId,
    codes.map(digestOf),
  ]);
  return codes;
}

/** Uses up a recovery code. @returns whether it was one, and unused */
export async function takeRecoveryCode(trx: Queryable, userId: number, code: string): Promise<boolean> {
  const { rowCount } = await trx.query(
    'update recovery_codes set used_at = now() where user_id = $1 and digest = $2 and used_at is null',
    [userId, digestOf(code)],
  );
  return rowCount === 1;
}

export async function countRecoveryCodes(db: Queryable, userId: number): Promise<number> {
  const { rows } = await db.query<{ left: number }>(
    'select count(*)::int as left from recovery_codes where user_id = $1 and used_at is null',
    [userId],
  );
  return rows[0]?.left ?? 0;
}
