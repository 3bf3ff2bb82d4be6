// A code of the second factor counts once, and five wrong ones lock it, wherever they are tried.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { AppError } from '../../../src/errors.ts';
import {
  beginSecondFactor,
  confirmSecondFactor,
  getSecondFactor,
  renewRecoveryCodes,
  requireSecondFactor,
  type SecondFactorDeps,
} from '../../../src/features/second-factor/service.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { TEST_SECRET } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { codeNow, secretOfUri } from '../../support/second-factor.ts';

const nothingElse = () => Promise.resolve();

describe('the second factor', () => {
  let test: TestDatabase;
  let deps: SecondFactorDeps;
  let userId: number;
  let users = 0;

  beforeAll(async () => {
    test = await createTestDatabase();
    deps = { pool: test.database.pool, keyring: createKeyring(TEST_SECRET) };
  });
  afterAll(() => test.drop());

  beforeEach(async () => {
    users += 1;
    const email = `user-${users}@acme.test`;
    const { rows } = await deps.pool.query<{ id: number }>(
      `insert into users (email, email_key, password_hash) values ($1, $1, 'none') returning id`,
      [email],
    );
    userId = rows[0]?.id as number;
  });

  const begin = async () => {
    const begun = await beginSecondFactor(deps.pool, deps.keyring, { id: userId, email: 'ada@acme.test' });
    return secretOfUri(begun.uri);
  };
  /** Turns it on with the code of the current step, so that the next one is unused. */
  const turnOn = async () => {
    const secret = await begin();
    const used = codeNow(secret);
    const { recoveryCodes } = await confirmSecondFactor(deps, userId, used, nothingElse);
    return { secret, used, codes: recoveryCodes };
  };
  const tried = (otp: string | undefined) =>
    requireSecondFactor(deps, userId, otp).catch((error: AppError) => error.code);
  const wrong = async (times: number) => {
    const outcomes: unknown[] = [];
    for (let n = 0; n < times; n += 1) outcomes.push(await tried('not-a-code'));
    return outcomes;
  };

  it('is not asked for before it is turned on', async () => {
    expect(await tried(undefined)).toBe(false);
    await begin();
    expect(await tried(undefined)).toBe(false);
    expect(await getSecondFactor(deps.pool, userId)).toEqual({ enabled: false, recovery_codes_left: 0 });
  });

  it('is required once it is on', async () => {
    const { secret } = await turnOn();
    expect(await tried(undefined)).toBe('otp_required');
    expect(await tried('not-a-code')).toBe('otp_required');
    expect(await tried(codeNow(secret, 1).replace(/^.../, '$& '))).toBe(true);
  });

  it('rejects a reused code, also the one that turned it on', async () => {
    const { secret, used } = await turnOn();
    expect(await tried(used)).toBe('otp_required');
    const code = codeNow(secret, 1);
    expect(await tried(code)).toBe(true);
    expect(await tried(code)).toBe('otp_required');
  });

  it('accepts a code once in concurrent tries', async () => {
    const { secret } = await turnOn();
    const code = codeNow(secret, 1);
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => tried(code)));
    expect(outcomes.filter((outcome) => outcome === true)).toHaveLength(1);
  });

  it('accepts each recovery code once, in any case and without dashes', async () => {
    const { codes } = await turnOn();
    expect(codes).toHaveLength(10);
    const code = codes[0] as string;
    const outcomes = await Promise.all([tried(code), tried(code.toUpperCase().replaceAll('-', ''))]);
    expect(outcomes.toSorted()).toEqual(['otp_required', true]);
    expect(await getSecondFactor(deps.pool, userId)).toEqual({ enabled: true, recovery_codes_left: 9 });
  });

  it('refuses former recovery codes after new ones are made', async () => {
    const { codes } = await turnOn();
    const fresh = await inTransaction(deps.pool, (trx) => renewRecoveryCodes(trx, userId));
    expect(await tried(codes[0])).toBe('otp_required');
    expect(await tried(fresh[0])).toBe(true);
  });

  it('locks after five wrong codes, and then refuses correct ones, too', async () => {
    const { secret, codes } = await turnOn();
    expect(await wrong(6)).toEqual([...Array<string>(5).fill('otp_required'), 'rate_limited']);
    expect(await tried(codeNow(secret, 1))).toBe('rate_limited');
    expect(await tried(codes[0])).toBe('rate_limited');
    await deps.pool.query(`update second_factors set locked_until = now() where user_id = $1`, [userId]);
    expect(await tried(codeNow(secret, 1))).toBe(true);
  });

  it('gives concurrent tries no more than five', async () => {
    await turnOn();
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => tried('000')));
    expect(outcomes.filter((outcome) => outcome === 'otp_required')).toHaveLength(5);
  });

  it('forgets wrong codes after a correct one', async () => {
    const { secret } = await turnOn();
    await wrong(4);
    expect(await tried(codeNow(secret, 1))).toBe(true);
    expect(await wrong(4)).not.toContain('rate_limited');
  });

  it('counts wrong codes before it is on, and a new secret does not reset the count', async () => {
    for (let n = 0; n < 5; n += 1) {
      await begin();
      await expect(confirmSecondFactor(deps, userId, '12345', nothingElse)).rejects.toMatchObject({
        validationErrors: { otp: ['the code is wrong or was already used'] },
      });
    }
    const secret = await begin();
    await expect(confirmSecondFactor(deps, userId, codeNow(secret), nothingElse)).rejects.toMatchObject({
      code: 'rate_limited',
    });
  });

  it('stores neither the secret nor a recovery code readably', async () => {
    const { secret, codes } = await turnOn();
    const { rows } = await deps.pool.query(
      `select (select f::text from second_factors f where user_id = $1)
         || (select string_agg(encode(digest, 'escape'), ' ') from recovery_codes where user_id = $1) as text`,
      [userId],
    );
    const { text } = rows[0] as { text: string };
    expect(text).not.toContain(secret.toString('base64url'));
    expect(text).not.toContain((codes[0] as string).replaceAll('-', ''));
  });
});
