// A snapshot writes each eligible contact exactly once, and records why it skips the others.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { campaignCounts } from '../../../../src/features/campaigns/campaign-counts.ts';
import { clearPage } from '../../../../src/features/contacts/removal-work.ts';
import { removeContact } from '../../../../src/features/contacts/remove.ts';
import { claimBlock } from '../../../../src/delivery/ledger/blocks/claim-blocks.ts';
import { evaluateInTurn } from '../../../../src/features/campaigns/run/evaluations.ts';
import {
  planSnapshot,
  readCampaign,
  wantsPage,
  writePage,
} from '../../../../src/features/campaigns/run/page.ts';
import {
  blocksOf,
  type CampaignSpec,
  evaluationsIn,
  insertList,
  insertSentCampaign,
  recipientsOf,
} from '../../../support/campaign-runs.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertAccount, insertSender, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';

let db: TestDatabase;
let account: QueuedAccount;
const asOf = new Date();

beforeAll(async () => {
  db = await createTestDatabase({ poolMax: 6 });
}, 60_000);
beforeEach(async () => {
  account = await insertAccount(db.database);
});
afterAll(() => db.drop());

const query = (text: string, values: unknown[] = []) =>
  db.database.pool.query<Record<string, unknown>>(text, values);

async function page(id: number, pageContacts = 10, at = asOf) {
  const { pool } = db.database;
  const row = await readCampaign(pool, id);
  if (!row) throw new Error('no such campaign');
  const stay = { forMs: 60_000, signal: new AbortController().signal };
  if (wantsPage(row)) await evaluateInTurn({ pool, evaluations: evaluationsIn(pool) }, row, stay);
  const plan = await planSnapshot(pool, row);
  return writePage({ pool, plusAddresses: false, pageContacts }, id, plan, at);
}

async function allPages(id: number, pageContacts = 10): Promise<number> {
  for (let pages = 1; ; pages += 1) {
    const { state } = await page(id, pageContacts);
    if (state !== 'more') return pages;
  }
}

const everyone = { filters: [] as unknown[], segmentId: 1 };
const begin = (spec: CampaignSpec = {}) =>
  insertSentCampaign(db.database.pool, account, { audience: everyone, phase: 'snapshot', asOf, ...spec });
const contacts = (count: number, prefix?: string) => insertContacts(db.database.pool, account, count, prefix);

describe('the snapshot of a campaign', () => {
  it('writes each contact once, in blocks whose ranges follow each other', async () => {
    const ids = await contacts(35);
    const id = await begin();
    expect(await allPages(id)).toBe(4);
    const recipients = await recipientsOf(db.database.pool, id);
    expect(recipients.map((each) => each.contact_id)).toEqual(ids);
    const blocks = await blocksOf(db.database.pool, id);
    expect(blocks.map(({ n, size }) => [n, size])).toEqual([
      [0, 10],
      [1, 10],
      [2, 10],
      [3, 5],
    ]);
    for (const { first_id: first, last_id: last, size } of blocks) {
      expect(recipients.filter((each) => each.id >= first && each.id <= last)).toHaveLength(size);
    }
    const row = await readCampaign(db.database.pool, id);
    expect(row).toMatchObject({ phase: 'sending', audience_count: 35, next_block: 4, cursor: ids.at(-1) });
  });

  it('includes only contacts who existed when it began', async () => {
    await contacts(3);
    const id = await begin();
    await contacts(3, 'later');
    await allPages(id);
    expect(await recipientsOf(db.database.pool, id)).toHaveLength(3);
  });

  it('takes contacts who are both in the list and in the segment, without those who are excluded', async () => {
    const ids = await contacts(8);
    await query('update contacts set first_name = $2 where id = any($1)', [ids.slice(0, 6), 'Ada']);
    const listId = await insertList(db.database.pool, account, ids.slice(2));
    const excluded = await insertList(db.database.pool, account, ids.slice(5, 6));
    const id = await begin({
      audience: {
        listId,
        segmentId: 1,
        filters: [{ name: 'first_name', predicate: 'eq', value: 'Ada' }],
        excludeListIds: [excluded],
        excludeFilters: [[{ name: 'id', predicate: 'eq', value: ids[3] }]],
      },
    });
    await allPages(id, 2);
    expect((await recipientsOf(db.database.pool, id)).map((each) => each.contact_id)).toEqual([
      ids[2],
      ids[4],
    ]);
  });

  it('skips contacts who have reached the frequency cap', async () => {
    const ids = await contacts(4);
    await query(`update brands set frequency_cap = '{"count": 2, "per_seconds": 3600}' where id = $1`, [
      account.brandId,
    ]);
    await query(`update contacts set phone = '+4915112345678' where id = $1`, [ids[2]]);
    const received = [
      ['contact0@example.com', 1, '10 minutes'],
      ['contact1@example.com', 1, '10 minutes'],
      ['contact1@example.com', 2, '50 minutes'],
      ['contact2@example.com', 1, '10 minutes'],
      ['+4915112345678', 1, '10 minutes'],
      ['contact3@example.com', 2, '70 minutes'],
      ['contact3@example.com', 0, '10 minutes'],
      ['contact3@example.com', 2, '10 minutes'],
    ] as const;
    for (const [to, priority, ago] of received) {
      await query(
        `insert into messages (account_id, brand_id, channel, class, status, to_address, to_key, sent_at)
         values ($1, $2, 'email', $3, 'sent', $4, $4, now() - $5::interval)`,
        [account.accountId, account.brandId, priority, to, ago],
      );
    }
    const id = await begin();
    await allPages(id);
    const { rows } = await query(
      `select contact_id, status, failure ->> 'code' as code from messages where campaign_id = $1 order by contact_id`,
      [id],
    );
    const skipped = { status: 'skipped', code: 'frequency_cap' };
    const queued = { status: 'queued', code: null };
    expect(rows.map(({ status, code }) => ({ status, code }))).toEqual([queued, skipped, skipped, queued]);
  });

  it('records why it skips each contact, in closed blocks that count at once', async () => {
    const ids = await contacts(5);
    await query('update contacts set email_subscribed = false where id = $1', [ids[1]]);
    await query(
      `update contacts set email = null, email_key = null, email_created_at = null, email_updated_at = null where id = $1`,
      [ids[2]],
    );
    await query(
      `insert into suppressions (account_id, address_key, email, reason) values ($1, 'contact3@example.com', 'x', 'manual')`,
      [account.accountId],
    );
    const id = await begin();
    await allPages(id);
    const recipients = await recipientsOf(db.database.pool, id);
    const codes = new Map(recipients.map((each) => [each.contact_id, each.code]));
    expect(ids.map((each) => codes.get(each))).toEqual([
      null,
      'unsubscribed',
      'no_address',
      'suppressed',
      null,
    ]);
    expect((await campaignCounts(db.database.pool, [id])).get(id)).toEqual({
      audience: 5,
      sent: 0,
      failed: 0,
      skipped: 3,
      unknown: 0,
      canceled: 0,
      remaining: 2,
    });
    expect((await blocksOf(db.database.pool, id)).map(({ size, closed }) => [size, closed])).toEqual([
      [2, false],
      [3, true],
    ]);
  });

  it('writes to an address once that moves to another contact, or is imported again, between two pages', async () => {
    const ids = await contacts(30);
    const id = await begin();
    await page(id);
    // The first contact's address moves to the last; the second contact is deleted, and its address is the 29th's.
    await query(`update contacts set email = 'n@example.com', email_key = 'n@example.com' where id = $1`, [
      ids[0],
    ]);
    await query(
      `update contacts set email = 'CONTACT0@example.com', email_key = 'contact0@example.com' where id = $1`,
      [ids[29]],
    );
    await query('delete from contacts where id = $1', [ids[1]]);
    await query(
      `update contacts set email = 'contact1@example.com', email_key = 'contact1@example.com' where id = $1`,
      [ids[28]],
    );
    await allPages(id);
    const recipients = await recipientsOf(db.database.pool, id);
    const last = recipients.filter((each) => each.contact_id === ids[28] || each.contact_id === ids[29]);
    expect(last.map(({ status, code }) => [status, code])).toEqual([
      ['skipped', 'duplicate_address'],
      ['skipped', 'duplicate_address'],
    ]);
    const queued = recipients
      .filter(({ status }) => status === 'queued')
      .map(({ address }) => address?.toLowerCase());
    expect(new Set(queued).size).toBe(queued.length);
  });

  it('writes to an address once whose contact was deleted, and the address cleared, between two pages', async () => {
    const ids = await contacts(20);
    const { pool } = db.database;
    const id = await begin();
    await page(id);
    await query(
      `update messages set status = 'sent', sent_at = now() where campaign_id = $1 and contact_id = any($2)`,
      [id, ids.slice(0, 2)],
    );
    await query(`update campaigns set status = 'paused' where id = $1`, [id]);
    for (const contactId of ids.slice(0, 3)) await removeContact(pool, account, contactId);
    const log = pino({ level: 'silent' });
    while (await clearPage(pool, { asOf: new Date(), further: [], log }));
    expect((await recipientsOf(pool, id)).slice(0, 3).map(({ address }) => address)).toEqual([
      null,
      null,
      null,
    ]);
    // The first address and that of the third contact, who was not sent to, come back.
    const address = (email: string, contactId: number | undefined) =>
      query('update contacts set email = $1, email_key = $1 where id = $2', [email, contactId]);
    await address('contact0@example.com', ids[18]);
    await address('contact2@example.com', ids[19]);
    await query(`update campaigns set status = 'active' where id = $1`, [id]);
    await allPages(id);
    const last = (await recipientsOf(pool, id)).slice(-2);
    expect(last.map(({ contact_id: contact, status, code }) => [contact, status, code])).toEqual([
      [ids[19], 'queued', null],
      [ids[18], 'skipped', 'duplicate_address'],
    ]);
  });

  it('writes to an address once that moves to another contact after a sender has split the first block', async () => {
    const ids = await contacts(20);
    const id = await begin();
    await page(id);
    const { pool } = db.database;
    await insertSender(db.database, 70);
    const { claims } = await claimBlock(
      pool,
      { channel: 'email', accountId: account.accountId, providerId: 0, owner: 70, messages: 4 },
      TEST_LIMITS,
    );
    expect(claims).toHaveLength(4);
    const address = (email: string, contactId: number | undefined) =>
      query('update contacts set email = $1, email_key = $1 where id = $2', [email, contactId]);
    await address('moved@example.com', ids[0]);
    await address('contact0@example.com', ids[19]);
    await allPages(id);
    const recipients = await recipientsOf(pool, id);
    expect(recipients.find((each) => each.contact_id === ids[19])).toMatchObject({
      status: 'skipped',
      code: 'duplicate_address',
    });
  });

  it('writes a page once if two workers write it concurrently while contacts change', async () => {
    const ids = await contacts(200);
    const id = await begin();
    const changes = async () => {
      for (const each of ids.slice(0, 60)) {
        await query('update contacts set first_name = $2, updated_at = now() where id = $1', [
          each,
          'Changed',
        ]);
      }
    };
    await Promise.all([allPages(id, 20), allPages(id, 20), allPages(id, 20), changes()]);
    const recipients = await recipientsOf(db.database.pool, id);
    expect(recipients.map((each) => each.contact_id)).toEqual(ids);
    expect(await readCampaign(db.database.pool, id)).toMatchObject({ audience_count: 200, phase: 'sending' });
  });

  it('leaves nothing of a page whose process dies before it commits, and writes it again', async () => {
    const ids = await contacts(40);
    const id = await begin();
    await page(id);
    const { pool } = db.database;
    const blocker = await pool.connect();
    await blocker.query('begin');
    await blocker.query('select 1 from campaigns where id = $1 for update', [id]);
    const dying = page(id).catch((error: unknown) => error);
    // It has written everything, and waits for the row. Its backend ends, as with the process.
    let pid: unknown;
    while (pid === undefined) {
      const { rows } = await query(
        `select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%update campaigns set cursor%'
         and datname = current_database()`,
      );
      pid = rows[0]?.pid;
    }
    await query('select pg_terminate_backend($1)', [pid]);
    expect(await dying).toBeInstanceOf(Error);
    await blocker.query('rollback');
    blocker.release();
    expect(await recipientsOf(pool, id)).toHaveLength(10);
    await allPages(id);
    expect((await recipientsOf(pool, id)).map((each) => each.contact_id)).toEqual(ids);
  });

  it('does not delay a pause, which drops the page that is being written', async () => {
    await contacts(40);
    const id = await begin();
    await page(id);
    await query(`update campaigns set status = 'paused' where id = $1`, [id]);
    expect(await page(id)).toEqual({ state: 'stopped', recipients: 0 });
    expect(await recipientsOf(db.database.pool, id)).toHaveLength(10);
  });

  it('adds no contacts once a list that the audience names is deleted', async () => {
    const ids = await contacts(30);
    const listId = await insertList(db.database.pool, account, ids);
    const id = await begin({ audience: { listId } });
    await page(id);
    await query('update lists set removed_at = now() where id = $1', [listId]);
    expect(await page(id)).toEqual({ state: 'gone', recipients: 0 });
  });

  it('evaluates a segment of events once, so that later events change nothing', async () => {
    const ids = await contacts(20);
    const name = await query(`insert into event_names (brand_id, name) values ($1, 'bought') returning id`, [
      account.brandId,
    ]);
    const bought = (contactIds: number[]) =>
      query(
        `insert into contact_events (account_id, brand_id, contact_id, name_id, created_at)
         select $1, $2, c, $3, now() - interval '1 hour' from unnest($4::bigint[]) c`,
        [account.accountId, account.brandId, name.rows[0]?.id, contactIds],
      );
    await bought(ids.slice(0, 15));
    const filters = [{ name: 'event.bought', predicate: 'did' }];
    const id = await begin({ audience: { segmentId: 1, filters } });
    await page(id);
    await bought(ids.slice(15));
    await allPages(id);
    expect((await recipientsOf(db.database.pool, id)).map((each) => each.contact_id)).toEqual(
      ids.slice(0, 15),
    );
  });

  it('writes phone numbers for an SMS', async () => {
    const ids = await contacts(2);
    await query(
      `update contacts set phone = '+1415555000' || (id % 10), phone_subscribed = true, phone_created_at = now(),
         phone_updated_at = now() where id = $1`,
      [ids[0]],
    );
    const id = await begin({ channel: 'sms' });
    await allPages(id);
    const recipients = await recipientsOf(db.database.pool, id);
    expect(recipients.map(({ address, code }) => [address?.startsWith('+1415') ?? false, code])).toEqual([
      [true, null],
      [false, 'no_address'],
    ]);
  });
});

const minuteOf = (at: Date | null) => (at ? Math.round((at.getTime() - asOf.getTime()) / 60_000) : null);

describe('the blocks of a campaign', () => {
  it('are spread over the minutes of a throttle', async () => {
    await contacts(100);
    const id = await begin({ options: { throttle_per_minute: 20 } });
    await allPages(id, 40);
    const blocks = await blocksOf(db.database.pool, id);
    expect(blocks.map(({ due_at: due, size }) => [minuteOf(due), size])).toEqual([
      [0, 20],
      [1, 20],
      [2, 20],
      [3, 20],
      [4, 20],
    ]);
  });

  it('follow those of earlier pages at the pace of a throttle, but not those that a limit holds', async () => {
    await contacts(100);
    const id = await begin({ options: { throttle_per_minute: 20 } });
    await page(id, 40);
    await query(
      `update campaign_blocks set hold_reason = 'allowance', due_at = $2 where campaign_id = $1 and n = 0`,
      [id, new Date(asOf.getTime() + 24 * 3_600_000)],
    );
    await allPages(id, 40);
    const blocks = await blocksOf(db.database.pool, id);
    expect(blocks.map(({ due_at: due }) => minuteOf(due))).toEqual([24 * 60, 1, 2, 3, 4]);
  });

  it('are due at the local time of their recipients, and at once where it has passed', async () => {
    const ids = await contacts(6);
    const scheduledAt = new Date('2030-03-01T09:00:00Z');
    const from = new Date('2030-02-28T20:00:00Z');
    const zone = (index: number, set: string, value: string) =>
      query(`update contacts set ${set} where id = $1`, [ids[index], value]);
    await zone(0, `data = jsonb_build_object('timezone', $2::text)`, 'Asia/Tokyo');
    await zone(1, `data = jsonb_build_object('timezone', $2::text)`, 'america/NEW_YORK');
    await zone(2, 'country_code = $2', 'DE');
    await zone(3, `data = jsonb_build_object('timezone', $2::text)`, 'No/Where');
    await zone(4, `data = jsonb_build_object('timezone', $2::text)`, 'Pacific/Kiritimati');
    await query(`update brands set timezone = 'Asia/Kolkata' where id = $1`, [account.brandId]);
    const id = await begin({ options: { send_at_local_time: true }, scheduledAt, asOf: from });
    await page(id, 100, from);
    const recipients = await recipientsOf(db.database.pool, id);
    const blocks = await blocksOf(db.database.pool, id);
    const dueOf = (contactId: number | undefined) => {
      const message = recipients.find((each) => each.contact_id === contactId)?.id ?? 0;
      return blocks
        .find((each) => each.first_id <= message && message <= each.last_id)
        ?.due_at?.toISOString();
    };
    expect(ids.map(dueOf)).toEqual([
      '2030-03-01T00:00:00.000Z',
      '2030-03-01T14:00:00.000Z',
      '2030-03-01T08:00:00.000Z',
      '2030-03-01T03:30:00.000Z',
      '2030-02-28T20:00:00.000Z',
      '2030-03-01T03:30:00.000Z',
    ]);
  });

  it('are all due at once if the campaign was sent before its local time', async () => {
    const [first] = await contacts(3);
    await query(`update contacts set data = jsonb_build_object('timezone', $2::text) where id = $1`, [
      ...[first, 'Pacific/Pago_Pago'],
    ]);
    const asOf = new Date('2030-03-01T09:00:00Z');
    const id = await begin({ options: { send_at_local_time: true }, asOf });
    await page(id, 100, asOf);
    const blocks = await blocksOf(db.database.pool, id);
    expect(blocks.map(({ due_at: due, size }) => [due?.toISOString(), size])).toEqual([
      [asOf.toISOString(), 3],
    ]);
  });

  it('have one variant each, in proportion to the weights, and the others wait for the winner', async () => {
    await contacts(100);
    const ab = {
      variants: [
        { subject: 'A', weight: 20 },
        { subject: 'B', weight: 30 },
      ],
      by: 'opens' as const,
    };
    const id = await begin({ options: { ab: { ...ab, after_seconds: 60 } }, versionIds: [11, 12] });
    await allPages(id, 200);
    const recipients = await recipientsOf(db.database.pool, id);
    const countOf = (variant: number | null, version: number | null) =>
      recipients.filter((each) => each.variant === variant && each.version === version).length;
    expect([countOf(0, 11), countOf(1, 12), countOf(null, null)]).toEqual([21, 30, 49]);
    const blocks = await blocksOf(db.database.pool, id);
    expect(blocks.map(({ size, variant, due_at: due }) => [size, variant, due !== null])).toEqual([
      [21, 0, true],
      [30, 1, true],
      [49, 0, false],
    ]);
  });
});
