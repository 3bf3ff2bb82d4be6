// The longest suppression of an address wins, and three soft bounces in a row suppress it for seven days.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  suppressionCtes,
  suppressionReasons,
  suppressionUpsertSql,
  type SuppressionReason,
} from '../../../../src/delivery/ledger/consent/suppressions.ts';
import { endSuppressions } from '../../../../src/features/suppressions/model.ts';
import { inTransaction, type Queryable } from '../../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { countUnlockedRows } from '../../../support/lock-order.ts';
import { insertAccount, type QueuedAccount, queueEmails } from '../../../support/queued.ts';

let test: TestDatabase;
let account: QueuedAccount;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(test.database);
});

const pool = () => test.database.pool;

interface Given {
  address?: string;
  reason: SuppressionReason;
  /** SQL: an interval from now; null: permanent. */
  expiresIn?: string | null;
  diagnostic?: string;
}

async function suppress(client: Queryable, given: Given[]): Promise<void> {
  const rows = given.map(({ address = 'ada@example.com', reason, expiresIn = null, diagnostic = null }) => ({
    ...{ account_id: account.accountId, address_key: address, channel: 'email', source_provider: 'smtp' },
    ...{ reason, diagnostic, expires_in: expiresIn },
  }));
  await client.query(
    suppressionUpsertSql(`
      select i.*, now() + i.expires_in as expires_at from json_to_recordset($1) as i (
        account_id bigint, address_key text, channel text, reason text, source_provider text, diagnostic text,
        expires_in interval)`),
    [JSON.stringify(rows)],
  );
}

interface Report {
  address?: string;
  reason: SuppressionReason;
  /** By default now. */
  at?: string;
}

async function report(client: Queryable, reports: Report[]): Promise<void> {
  const rows = reports.map(({ address = 'ada@example.com', reason, at = 'now' }) => ({
    ...{ account_id: account.accountId, address_key: address, channel: 'email', source_provider: 'ses' },
    ...{ reason, diagnostic: '452 4.2.2 full', occurred_at: at },
  }));
  await client.query(
    `with reports as (
       select * from json_to_recordset($1) as i (
         account_id bigint, address_key text, channel text, reason text, source_provider text, diagnostic text,
         occurred_at timestamptz)
     )${suppressionCtes('select *, true as counted from reports')} select 1`,
    [JSON.stringify(rows)],
  );
}

interface Row {
  id: number;
  reason: string;
  permanent: boolean;
  active: boolean;
}

async function rows(): Promise<Row[]> {
  const found = await pool().query<Row>(
    `select id, reason, expires_at is null as permanent,
       released_at is null and (expires_at is null or expires_at > now()) as active
     from suppressions where account_id = $1 order by id`,
    [account.accountId],
  );
  return found.rows;
}

describe('a suppression', () => {
  it('that is permanent replaces one that expires', async () => {
    await suppress(pool(), [{ reason: 'soft_bounce', expiresIn: '7 days' }]);
    const [before] = await rows();
    await suppress(pool(), [{ reason: 'hard_bounce' }]);
    expect(await rows()).toEqual([{ id: before?.id, reason: 'hard_bounce', permanent: true, active: true }]);
  });

  it('that expires does not replace a permanent one', async () => {
    await suppress(pool(), [{ reason: 'complaint' }]);
    await suppress(pool(), [{ reason: 'soft_bounce', expiresIn: '7 days' }]);
    expect(await rows()).toMatchObject([{ reason: 'complaint', permanent: true }]);
  });

  it('that lasts longer replaces one that expires earlier, and not vice versa', async () => {
    await suppress(pool(), [{ reason: 'manual', expiresIn: '1 day' }]);
    await suppress(pool(), [{ reason: 'soft_bounce', expiresIn: '7 days' }]);
    expect(await rows()).toMatchObject([{ reason: 'soft_bounce' }]);
    await suppress(pool(), [{ reason: 'manual', expiresIn: '2 days' }]);
    expect(await rows()).toMatchObject([{ reason: 'soft_bounce' }]);
  });

  it.each(['complaint', 'hard_bounce'] as const)(
    'by hand becomes a %s, and not vice versa',
    async (reason) => {
      await suppress(pool(), [{ reason: 'manual' }]);
      const [before] = await rows();
      await report(pool(), [{ reason }]);
      expect(await rows()).toEqual([{ ...before, reason }]);
      await suppress(pool(), [{ reason: 'manual' }]);
      expect(await rows()).toEqual([{ ...before, reason }]);
    },
  );

  it('that is an expiring complaint stays a complaint if a manual one makes it last longer', async () => {
    await suppress(pool(), [{ reason: 'complaint', expiresIn: '1 day' }]);
    await suppress(pool(), [{ reason: 'manual' }]);
    expect(await rows()).toMatchObject([{ reason: 'complaint', permanent: true }]);
  });

  it('is a complaint even if the statement also has a manual one', async () => {
    await suppress(pool(), [{ reason: 'manual' }, { reason: 'complaint' }, { reason: 'manual' }]);
    expect(await rows()).toMatchObject([{ reason: 'complaint' }]);
  });

  it.each([
    ['expired', `expires_at = now() - interval '1 second'`],
    ['released', 'released_at = now()'],
  ])('replaces one that has %s, as a new suppression', async (_name, ended) => {
    await suppress(pool(), [{ reason: 'hard_bounce' }]);
    await pool().query(`update suppressions set ${ended} where account_id = $1`, [account.accountId]);
    const [before] = await rows();
    expect(before?.active).toBe(false);
    await suppress(pool(), [{ reason: 'soft_bounce', expiresIn: '7 days' }]);
    const after = await rows();
    expect(after).toMatchObject([{ reason: 'soft_bounce', permanent: false, active: true }]);
    expect(after[0]?.id).toBeGreaterThan(before?.id ?? 0);
  });

  it('is the longest of several in a statement', async () => {
    await suppress(pool(), [
      { reason: 'soft_bounce', expiresIn: '7 days' },
      { reason: 'hard_bounce' },
      { reason: 'manual', expiresIn: '90 days' },
    ]);
    expect(await rows()).toMatchObject([{ reason: 'hard_bounce', permanent: true }]);
  });

  it('has a diagnostic of at most 500 characters', async () => {
    await suppress(pool(), [{ reason: 'hard_bounce', diagnostic: 'x'.repeat(600) }]);
    const { rows: found } = await pool().query(
      'select length(diagnostic) from suppressions where account_id = $1',
      [account.accountId],
    );
    expect(found).toEqual([{ length: 500 }]);
  });

  it('is written once, even if twenty statements suppress the same addresses in any order', async () => {
    const addresses = Array.from({ length: 40 }, (_, n) => `u${n}@example.com`);
    const statements = Array.from({ length: 20 }, (_, n) => {
      const given = addresses.map((address) => ({ address, reason: 'hard_bounce' as const }));
      return suppress(pool(), n % 2 === 0 ? given : given.toReversed());
    });
    await Promise.all(statements);
    expect(await rows()).toHaveLength(addresses.length);
  });

  it('locks addresses in their order', async () => {
    const given = ['a', 'b', 'c', 'd'].map((name) => ({
      address: `${name}@example.com`,
      reason: 'soft_bounce' as const,
      expiresIn: '1 day',
    }));
    await suppress(pool(), given);
    const permanent = given.map(({ address }) => ({ address, reason: 'hard_bounce' as const })).toReversed();
    const unlocked = await countUnlockedRows(pool(), {
      lock: `select 1 from suppressions where account_id = $1 and address_key = 'a@example.com' for update`,
      values: [account.accountId],
      work: () => inTransaction(pool(), (client) => suppress(client, permanent)),
      probes: [`select 1 from suppressions where account_id = ${account.accountId} for update`],
    });
    expect(unlocked).toEqual([4]);
  });
});

describe('the end of suppressions', () => {
  it('locks soft bounces before suppressions, as reports do', async () => {
    const keys = ['a@example.com', 'b@example.com'];
    await suppress(
      pool(),
      keys.map((address) => ({ address, reason: 'hard_bounce' })),
    );
    await report(
      pool(),
      keys.map((address) => ({ address, reason: 'soft_bounce' })),
    );
    const { accountId } = account;
    const unlocked = await countUnlockedRows(pool(), {
      lock: `select 1 from soft_bounces where account_id = $1 and address_key = 'a@example.com' for update`,
      values: [accountId],
      work: () =>
        endSuppressions(
          pool(),
          { accountId },
          { keys, reasons: suppressionReasons, by: { kind: 'user', id: 1, role: 'owner' } },
        ),
      probes: ['suppressions', 'soft_bounces'].map(
        (table) => `select 1 from ${table} where account_id = ${accountId} for update`,
      ),
    });
    expect(unlocked).toEqual([2, 2]);
    expect((await rows()).map(({ active }) => active)).toEqual([false, false]);
    const { rowCount } = await pool().query('select 1 from soft_bounces where account_id = $1', [accountId]);
    expect(rowCount).toBe(0);
  });
});

describe('soft bounces', () => {
  const soft = (at?: string): Report => ({ reason: 'soft_bounce', ...(at ? { at } : {}) });

  it('suppress the address for seven days at the third in a row', async () => {
    await report(pool(), [soft()]);
    await report(pool(), [soft()]);
    expect(await rows()).toEqual([]);
    await report(pool(), [soft()]);
    expect(await rows()).toMatchObject([{ reason: 'soft_bounce', permanent: false, active: true }]);
    const { rows: found } = await pool().query(
      `select expires_at = created_at + interval '7 days' as week from suppressions where account_id = $1`,
      [account.accountId],
    );
    expect(found).toEqual([{ week: true }]);
  });

  it('count within one statement, too', async () => {
    await report(pool(), [soft(), soft(), soft(), { address: 'bob@example.com', reason: 'soft_bounce' }]);
    expect(await rows()).toHaveLength(1);
  });

  it('start again at one after they have suppressed the address', async () => {
    await report(pool(), [soft(), soft(), soft()]);
    await pool().query('update suppressions set released_at = now() where account_id = $1', [
      account.accountId,
    ]);
    await report(pool(), [soft()]);
    await report(pool(), [soft()]);
    expect((await rows()).map(({ active }) => active)).toEqual([false]);
    await report(pool(), [soft()]);
    expect((await rows()).map(({ active }) => active)).toEqual([true]);
  });

  it.each(['delivered_at', 'opened_at', 'clicked_at'])('are no longer in a row after %s', async (column) => {
    await report(pool(), [soft('2026-01-01T10:00:00Z')]);
    await report(pool(), [soft('2026-01-01T11:00:00Z')]);
    const [id] = await queueEmails(test.database, account, 1, { prefix: 'ada' });
    await pool().query(
      `update messages set status = 'delivered', to_key = 'ada@example.com', ${column} = '2026-01-01T12:00:00Z'
       where id = $1`,
      [id],
    );
    await report(pool(), [soft('2026-01-01T13:00:00Z')]);
    expect(await rows()).toEqual([]);
    await report(pool(), [soft('2026-01-01T14:00:00Z')]);
    expect(await rows()).toEqual([]);
    await report(pool(), [soft('2026-01-01T15:00:00Z')]);
    expect(await rows()).toHaveLength(1);
  });

  it('stay in a row after an event of a message that is older than 90 days', async () => {
    await report(pool(), [soft('2026-01-01T10:00:00Z')]);
    await report(pool(), [soft('2026-01-01T11:00:00Z')]);
    const [id] = await queueEmails(test.database, account, 1, { prefix: 'ada' });
    await pool().query(
      `update messages set status = 'delivered', to_key = 'ada@example.com', created_at = now() - interval '91 days',
         opened_at = now() where id = $1`,
      [id],
    );
    await report(pool(), [soft()]);
    expect(await rows()).toHaveLength(1);
  });

  it('do not shorten a hard bounce of the same statement', async () => {
    await report(pool(), [soft(), soft(), soft(), { reason: 'hard_bounce' }]);
    expect(await rows()).toMatchObject([{ reason: 'hard_bounce', permanent: true }]);
  });
});
