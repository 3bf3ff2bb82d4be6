// No address, browser or link of a deleted contact remains in the tracking of its mail.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { cancelQueued } from '../../../src/features/contacts/message-removal.ts';
import { clearPage } from '../../../src/features/contacts/removal-work.ts';
import { decideFetches } from '../../../src/features/tracking/decisions.ts';
import { storeHits } from '../../../src/features/tracking/hits.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { testEvents } from '../../support/events.ts';
import { eventually } from '../../support/eventually.ts';
import { queueEmails } from '../../support/queued.ts';
import { hitOn, targetsOf, writeTrackedMail } from '../../support/tracking.ts';
import { addWebhook } from '../../support/webhooks.ts';

const MINUTE = 60_000;
let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
  await addWebhook(api.database, api, 'https://hooks.example.com/', ['email.opened', 'email.clicked']);
});
afterAll(() => api.close());

const query = async <Row extends object>(sql: string, values: unknown[] = []) =>
  (await api.database.pool.query<Row>(sql, values)).rows;

let made = 0;
/** A contact, and a sent mail to it. */
async function contactWithMail() {
  const address = `tracked${(made += 1)}@example.test`;
  const { body } = await api.request('POST', '/v1/my/contacts', { body: { email: address } });
  const contactId = Number(body.id);
  const messageId = await writeTrackedMail(api.database, api, { to_address: address, to_key: address });
  await query('delete from send_queue where message_id = $1', [messageId]);
  await query(
    `update messages set status = 'sent', sent_at = now(), contact_id = $2, opened_at = now() + interval '1 second',
       clicked_at = now() + interval '2 seconds' where id = $1`,
    [messageId, contactId],
  );
  return { contactId, messageId, address, targets: targetsOf(api, messageId, 2) };
}

type Mail = Awaited<ReturnType<typeof contactWithMail>>;

const remove = ({ contactId }: Mail) => api.request('DELETE', `/v1/my/contacts/${contactId}`);
const clear = async (minutes: number) => {
  // A moment later, because PostgreSQL counts microseconds.
  const asOf = new Date(Date.now() + minutes * MINUTE + 100);
  while (await clearPage(api.database.pool, { asOf, further: [], log: pino({ level: 'silent' }) }));
};

const storedHits = ({ messageId }: Mail) =>
  query('select ip, user_agent from tracking_hits where message_id = $1', [messageId]);

describe('a fetch of mail to a deleted contact', () => {
  it('leaves no address, browser or link, and publishes nothing', async () => {
    const mail = await contactWithMail();
    await remove(mail);
    await clear(0);
    await clear(2);
    const at = new Date(Date.now() - MINUTE);
    await storeHits(
      api.database.pool,
      mail.targets.slice(0, 2).map((target) => hitOn(target, at)),
    );
    while ((await decideFetches({ pool: api.database.pool, events: testEvents }, new Date())).fetches > 0);
    const nothing = { ip: null, user_agent: null };
    expect(await storedHits(mail)).toEqual([nothing, nothing]);
    expect(
      await query('select link, url, user_agent from message_interactions where message_id = $1 order by 1', [
        mail.messageId,
      ]),
    ).toEqual([
      { link: 0, url: null, user_agent: null },
      { link: 1, url: null, user_agent: null },
    ]);
    expect(
      await query(`select 1 from events where data ->> 'message_id' = $1`, [String(mail.messageId)]),
    ).toEqual([]);
  });

  it('is cleared if it was being stored while the message was cleared', async () => {
    const mail = await contactWithMail();
    await remove(mail);
    await clear(0);
    // A statement had read the message before.
    await query(
      `insert into tracking_hits (created_at, message_id, account_id, link, is_bot, user_agent, ip)
       values (now(), $1, $2, 0, false, 'Mail 1.0', '192.0.2.7')`,
      [mail.messageId, api.accountId],
    );
    await clear(2);
    expect(await storedHits(mail)).toEqual([{ ip: null, user_agent: null }]);
    expect(await query('select 1 from cleared_messages union all select 1 from contact_removals')).toEqual(
      [],
    );
  });

  it('keeps address and browser for a contact that exists', async () => {
    const mail = await contactWithMail();
    await storeHits(api.database.pool, [hitOn(mail.targets[1] as never, new Date())]);
    expect(await storedHits(mail)).toEqual([{ ip: expect.any(String), user_agent: expect.any(String) }]);
  });
});

describe('the deletion of a contact', () => {
  it("removes the contact's opens and clicks", async () => {
    const mail = await contactWithMail();
    const other = await contactWithMail();
    await query(
      `insert into contact_engagement (brand_id, contact_id, message_id, kind, created_at)
       select m.brand_id, m.contact_id, m.id, k.kind, k.at from messages m
       cross join lateral (values (0, m.sent_at), (1, m.opened_at), (2, m.clicked_at)) k (kind, at)
       where m.id = any($1)`,
      [[mail.messageId, other.messageId]],
    );
    await remove(mail);
    await clear(0);
    const left = await query<{ contact_id: number }>('select distinct contact_id from contact_engagement');
    expect(left).toEqual([{ contact_id: other.contactId }]);
    await clear(2);
  });

  it('locks fetches before messages, like the decision about them', async () => {
    const mail = await contactWithMail();
    await storeHits(api.database.pool, [hitOn(mail.targets[1] as never, new Date())]);
    await remove(mail);
    const { clearing } = await inTransaction(api.database.pool, async (trx) => {
      await trx.query('select 1 from tracking_fetches where message_id = $1 for update', [mail.messageId]);
      const begun = clear(0);
      await eventually(async () => {
        const waiting = await query(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        );
        expect(waiting).toHaveLength(1);
      });
      await trx.query('select 1 from messages where id = $1 for no key update nowait', [mail.messageId]);
      return { clearing: begun };
    });
    await clearing;
    expect(await query('select 1 from tracking_fetches where message_id = $1', [mail.messageId])).toEqual([]);
    await clear(2);
  });

  it('cancels queued messages among the newest before it responds, and leaves the others to the worker', async () => {
    const { body } = await api.request('POST', '/v1/my/contacts', { body: { email: 'q0@example.com' } });
    const ids: number[] = [];
    for (let n = 0; n < 3; n += 1) ids.push(...(await queueEmails(api.database, api, 1, { prefix: 'q' })));
    const statuses = async () => {
      const rows = await query<{ status: string }>(
        'select status from messages where id = any($1) order by id',
        [ids],
      );
      return rows.map(({ status }) => status);
    };
    // PostgreSQL counts microseconds: this millisecond may have begun before the last message was written.
    const until = new Date(Date.now() + 1_000).toISOString();
    const recipient = { brandId: api.brandId, key: 'q0@example.com', until };
    await cancelQueued(api.database.pool, recipient, 2);
    expect(await statuses()).toEqual(['queued', 'canceled', 'canceled']);
    await api.database.pool.query(
      `insert into contact_removals (account_id, brand_id, contact_id, addresses) values ($1, $2, $3, $4)`,
      [api.accountId, api.brandId, Number(body.id), JSON.stringify([recipient])],
    );
    await clear(0);
    expect(await statuses()).toEqual(['canceled', 'canceled', 'canceled']);
    await clear(2);
  });
});
