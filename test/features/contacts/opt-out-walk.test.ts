// A click on an old unsubscribe link unsubscribes each contact that has the address now, even after a crash.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { optOutHashes } from '../../../src/delivery/ledger/consent/opt-outs.ts';
import {
  hasUnapplied,
  recordUnappliedOptOut,
  unappliedOptOutsSql,
} from '../../../src/delivery/ledger/consent/unapplied-opt-outs.ts';
import { lockConsent } from '../../../src/features/contacts/consent.ts';
import { startOptOutWalk, walkPage } from '../../../src/features/contacts/opt-out-walk.ts';
import {
  recordRefusedInLedger,
  recordRefusedOptOut,
  setSubscription,
} from '../../../src/features/contacts/service.ts';
import { unsubscribeLinks } from '../../../src/features/unsubscribe/service.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { startTestApi, TEST_SECRET, type TestApi } from '../../support/api.ts';
import { insertContacts } from '../../support/contacts.ts';
import { eventually } from '../../support/eventually.ts';
import { testPulse } from '../../support/pulse.ts';
import { countWaiting } from '../../support/waiting.ts';

const FORMER_SECRET = 'the secret of last year that is long enough';
const keyring = createKeyring(TEST_SECRET, [FORMER_SECRET]);
const log = pino({ level: 'silent' });
/** A message that retention has removed. */
const REMOVED = 4_711;
const MINUTE = 60_000;

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ env: { APP_SECRET_PREVIOUS: FORMER_SECRET } });
});
afterAll(() => api.close());

const query = async <Row extends object>(sql: string, values: unknown[] = []) =>
  (await api.database.pool.query<Row>(sql, values)).rows;

beforeEach(() => query('truncate opt_outs, opt_out_walks, contacts cascade'));

const insert = (count: number, prefix?: string) => insertContacts(api.database.pool, api, count, prefix);

/** Clicks the unsubscribe link in a mail whose message was removed. */
async function click(address: string, by = keyring): Promise<void> {
  const { accountId, brandId } = api;
  const source = { messageId: REMOVED };
  const links = unsubscribeLinks(by, api.baseUrl, { accountId, brandId, source, address });
  const response = await fetch(links?.url ?? '', { method: 'POST', body: 'List-Unsubscribe=One-Click' });
  expect(response.status).toBe(200);
}

interface Walking {
  pageSize?: number;
  plusAddresses?: boolean;
  /** Later than now. */
  inMs?: number;
}

/** A page of the contacts. @returns whether there was one */
const page = ({ pageSize = 2_000, plusAddresses = false, inMs = 1_000 }: Walking = {}) =>
  walkPage(api.database.pool, {
    deps: { keyring, plusAddresses },
    asOf: new Date(Date.now() + inMs),
    log,
    pageSize,
  });

async function walk(options: Walking = {}): Promise<number> {
  let pages = 0;
  while (await page(options)) pages += 1;
  return pages;
}

async function unsubscribed(): Promise<string[]> {
  const rows = await query<{ email: string }>(
    'select email from contacts where not email_subscribed order by email',
  );
  return rows.map(({ email }) => email);
}

/** What the senders' check of campaigns sees. */
async function unapplied(): Promise<Buffer[] | null> {
  const [row] = await query<{ hashes: Buffer[] | null }>(
    `select ${unappliedOptOutsSql('$1', '$2')} as hashes`,
    [api.brandId, 'email'],
  );
  return row?.hashes ?? null;
}

const position = () => query<{ lap: number; after_id: number }>('select lap, after_id from opt_out_walks');

describe('an unsubscribe link in a mail that is no longer known', () => {
  it('unsubscribes the contact that has the address now, and no other', async () => {
    const ids = await insert(5);
    await insertContacts(api.database.pool, api.other, 5);
    await click('contact3@example.com', createKeyring(FORMER_SECRET));
    const { pool } = api.database;
    const walking = startOptOutWalk({ pool, pulse: testPulse(pool), keyring, plusAddresses: false, log });
    try {
      await eventually(async () => expect(await unsubscribed()).toEqual(['contact3@example.com']));
    } finally {
      await walking.stop();
    }
    const changes = await query('select contact_id, subscribed, source from contact_subscriptions');
    expect(changes).toEqual([{ contact_id: ids[3], subscribed: false, source: 'one_click' }]);
    const { body } = await api.request('GET', `/v1/my/contacts/${ids[3]}`);
    expect(body.channels?.[0]).toMatchObject({ subscribed: false, opt_out_at: expect.any(String) });
  });

  it('unsubscribes a contact that was deleted and created again', async () => {
    const address = 'again@example.com';
    const created = await api.request('POST', '/v1/my/contacts', { body: { email: address } });
    await api.request('DELETE', `/v1/my/contacts/${String(created.body.id)}`);
    await api.request('POST', '/v1/my/contacts', { body: { email: address } });
    await click(address);
    await walk();
    expect(await unsubscribed()).toEqual([address]);
  });

  it('stops campaigns to the address until the contact has it, and for a minute more', async () => {
    await insert(3);
    expect(await unapplied()).toBeNull();
    await click('contact1@example.com');
    const check = async () => {
      const { brandId } = api;
      const hashes = (await unapplied()) ?? [];
      return [0, 1, 2].map((n) =>
        hasUnapplied(keyring, { brandId, channel: 'email', address: `Contact${n}@example.com` }, hashes),
      );
    };
    expect(await check()).toEqual([false, true, false]);
    await walk();
    expect(await unsubscribed()).toEqual(['contact1@example.com']);
    expect(await check()).toEqual([false, true, false]);
    await walk({ inMs: 2 * MINUTE });
    expect(await unapplied()).toBeNull();
    expect(await query('select 1 from unapplied_opt_outs union all select 1 from opt_out_walks')).toEqual([]);
  });

  it('starts one walk, however often it is clicked', async () => {
    await insert(1);
    await click('contact0@example.com');
    await walk();
    await walk({ inMs: 2 * MINUTE });
    await click('contact0@example.com');
    expect(await unapplied()).toBeNull();
  });

  it('counts again after the contact subscribed again', async () => {
    const address = 'contact0@example.com';
    const [id] = await insert(1);
    await click(address);
    await walk();
    const subscribe = { channels_attributes: [{ kind: 'email', subscribed: true }] };
    await api.request('PATCH', `/v1/my/contacts/${id}`, { body: subscribe });
    expect(await unapplied()).toBeNull();
    await click(address);
    expect(await unapplied()).toHaveLength(1);
    await walk();
    expect(await unsubscribed()).toEqual([address]);
  });

  it('changes nothing if the contact subscribes again before it is found', async () => {
    const [id] = await insert(1);
    await click('contact0@example.com');
    const subscribe = { channels_attributes: [{ kind: 'email', subscribed: true }] };
    await api.request('PATCH', `/v1/my/contacts/${id}`, { body: subscribe });
    await walk();
    expect(await unsubscribed()).toEqual([]);
  });

  it('counts again during the walk for an earlier click', async () => {
    const [id] = await insert(4);
    await click('contact0@example.com');
    const subscribe = { channels_attributes: [{ kind: 'email', subscribed: true }] };
    await api.request('PATCH', `/v1/my/contacts/${id}`, { body: subscribe });
    await click('nobody@example.com');
    await page({ pageSize: 2 });
    await click('contact0@example.com');
    await walk({ pageSize: 2 });
    expect(await unsubscribed()).toEqual(['contact0@example.com']);
  });

  it('finds a contact that was being created while it was clicked', async () => {
    await insert(1);
    const { walking } = await inTransaction(api.database.pool, async (trx) => {
      await lockConsent(trx, api.brandId, 'shared');
      await insertContacts(trx, api, 1, 'late');
      await click('late0@example.com');
      const begun = page();
      await eventually(async () => {
        expect(await countWaiting(api.database.pool, `locktype = 'advisory'`)).toBe(1);
      });
      return { walking: begun };
    });
    await walking;
    await walk();
    expect(await unsubscribed()).toEqual(['late0@example.com']);
  });
});

describe('the walk through the contacts', () => {
  it('reads pages, and resumes after the last one if its process died', async () => {
    const ids = await insert(10);
    await click('contact7@example.com');
    const walking = { pageSize: 2 };
    for (let n = 0; n < 3; n += 1) await page(walking);
    expect(await position()).toEqual([{ lap: 0, after_id: ids[5] }]);
    await inTransaction(api.database.pool, async (trx) => {
      await trx.query('select 1 from contacts where id = $1 for update', [ids[7]]);
      const dying = page(walking).catch((error: unknown) => error);
      await eventually(async () => {
        const killed = await query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock'`,
        );
        expect(killed).toHaveLength(1);
      });
      expect(await dying).toBeInstanceOf(Error);
    });
    expect([await unsubscribed(), await position()]).toEqual([[], [{ lap: 0, after_id: ids[5] }]]);
    expect(await walk(walking)).toBe(1);
    expect(await unsubscribed()).toEqual(['contact7@example.com']);
  });

  it('lets an opt-out join where it is, and compares earlier contacts in the next lap', async () => {
    const ids = await insert(6);
    const walking = { pageSize: 2 };
    // No contact has it, so the walk continues.
    await click('nobody@example.com');
    await page(walking);
    await click('contact0@example.com');
    await click('contact5@example.com');
    await page(walking);
    expect(await position()).toEqual([{ lap: 0, after_id: ids[3] }]);
    await walk(walking);
    expect(await unsubscribed()).toEqual(['contact0@example.com', 'contact5@example.com']);
    expect(await query('select 1 from unapplied_opt_outs where applied_at is null')).toEqual([]);
    expect(await position()).toEqual([]);
  });

  it('serves other brands between two pages', async () => {
    await insert(6);
    await insertContacts(api.database.pool, api.other, 2, 'other');
    await click('nobody@example.com');
    await page({ pageSize: 2 });
    const { accountId, brandId } = api.other;
    const links = unsubscribeLinks(keyring, api.baseUrl, {
      accountId,
      brandId,
      source: { messageId: REMOVED },
      address: 'other1@example.com',
    });
    await fetch(links?.url ?? '', { method: 'POST' });
    await page({ pageSize: 2, inMs: 2_000 });
    await page({ pageSize: 2, inMs: 3_000 });
    expect(await unsubscribed()).toEqual(['other1@example.com']);
  });

  it('waits after a page that fails, and does not stop the others', async () => {
    await insert(1);
    await click('contact0@example.com');
    await query(`alter table contact_subscriptions add constraint refused check (source <> 'one_click')`);
    expect(await page()).toBe(true);
    expect(await page()).toBe(false);
    await query('alter table contact_subscriptions drop constraint refused');
    await walk({ inMs: 2 * MINUTE });
    expect(await unsubscribed()).toEqual(['contact0@example.com']);
  });
});

describe('an opt-out that only a provider knew of', () => {
  const refused = () => {
    const { accountId, brandId } = api;
    return { messageId: 1, accountId, brandId, channel: 'email', key: 'contact0@example.com' } as const;
  };

  it('is found by the walk a minute later if the process that recorded it died', async () => {
    await insert(2);
    await inTransaction(api.database.pool, (trx) => recordRefusedInLedger(trx, keyring, [refused()]));
    expect(await unapplied()).toHaveLength(1);
    expect(await walk()).toBe(0);
    await walk({ inMs: 2 * MINUTE });
    expect(await unsubscribed()).toEqual(['contact0@example.com']);
  });

  it('needs no walk once its contact is unsubscribed', async () => {
    await insert(2);
    await inTransaction(api.database.pool, (trx) => recordRefusedInLedger(trx, keyring, [refused()]));
    await inTransaction(api.database.pool, (trx) => recordRefusedOptOut(trx, keyring, refused()));
    expect(await unsubscribed()).toEqual(['contact0@example.com']);
    expect(await unapplied()).toBeNull();
  });
});

describe('with SUPPRESS_PLUS_ADDRESSES', () => {
  const plus = { plusAddresses: true };
  const contact = async (email: string) => {
    const [row] = await query<{ id: number }>(
      `insert into contacts (account_id, brand_id, email, email_key, email_subscribed, email_created_at)
       values ($1, $2, $3, $3, true, now()) returning id`,
      [api.accountId, api.brandId, email],
    );
    return row?.id ?? 0;
  };

  it('unsubscribes every contact whose address differs only by the tag', async () => {
    for (const email of ['ada@example.com', 'ada+a@example.com', 'ada+b@example.com', 'adam@example.com']) {
      await contact(email);
    }
    await click('ada@example.com');
    await walk(plus);
    expect(await unsubscribed()).toEqual(['ada+a@example.com', 'ada+b@example.com', 'ada@example.com']);
  });

  it('unsubscribes them for an address that no contact has', async () => {
    await contact('ada+a@example.com');
    await contact('ada+b@example.com');
    await click('ada@example.com');
    await walk(plus);
    expect(await unsubscribed()).toEqual(['ada+a@example.com', 'ada+b@example.com']);
  });

  it('lets an address subscribe alone afterwards, until the other opts out again', async () => {
    const { accountId, brandId } = api;
    const [base = Buffer.alloc(0)] = optOutHashes(keyring, {
      brandId,
      channel: 'email',
      address: 'ada@example.com',
    });
    const optOut = { accountId, brandId, channel: 'email', source: 'one_click', messageId: null } as const;
    const again = () =>
      inTransaction(api.database.pool, (trx) => recordUnappliedOptOut(trx, base, { ...optOut, ...plus }));
    const contactId = await contact('ada+a@example.com');
    await again();
    await walk(plus);
    expect(await unsubscribed()).toEqual(['ada+a@example.com']);
    const deps = { keyring, ...plus };
    const optIn = { ...optOut, subscribed: true, source: 'manual', of: { contactId } } as const;
    await inTransaction(api.database.pool, (trx) => setSubscription(trx, deps, optIn));
    await walk({ ...plus, inMs: 2 * MINUTE });
    expect(await unsubscribed()).toEqual([]);
    expect(await query('select ended_at from opt_outs where address_hash = $1', [base])).toEqual([
      { ended_at: null },
    ]);
    await again();
    await walk(plus);
    expect(await unsubscribed()).toEqual(['ada+a@example.com']);
  });

  it('finds opt-outs of both addresses in the check of campaigns', () => {
    const { brandId } = api;
    const hashes = optOutHashes(keyring, { brandId, channel: 'email', address: 'ada@example.com' });
    const tagged = { brandId, channel: 'email', address: 'ada+a@example.com' } as const;
    expect(hasUnapplied(keyring, { ...tagged, ...plus }, hashes)).toBe(true);
    expect(hasUnapplied(keyring, tagged, hashes)).toBe(false);
  });
});
