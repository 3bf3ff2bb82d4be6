// Mail in quarantine is listed apart, and released once: it then arrives and is reported. A virus is never released.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../../support/api.ts';
import {
  insertAttachment,
  insertConversation,
  insertConversationMessage,
  insertQuarantined,
} from '../../../support/conversations.ts';
import { insertInbox } from '../../../support/inboxes.ts';
import { addWebhook } from '../../../support/webhooks.ts';

const PATH = '/v1/my/inbox_quarantine';

let api: TestApi;
let inbox_id: number;
let webhookId: number;
beforeAll(async () => {
  api = await startTestApi();
  ({ id: webhookId } = await addWebhook(api.database, api, 'https://hooks.example.test', ['email.received']));
});
afterAll(() => api.close());

let inboxes = 0;
beforeEach(async () => {
  inboxes += 1;
  inbox_id = await insertInbox(api.database, api, `support${inboxes}@inbox.test`);
});

async function rows<Row extends object>(statement: string, values: unknown[]): Promise<Row[]> {
  return (await api.database.pool.query<Row & Record<string, unknown>>(statement, values)).rows;
}

const quarantined = (reason: string, columns: Record<string, unknown> = {}) =>
  insertQuarantined(api, api, {
    inbox_id,
    quarantine: { reason, detail: 'score 9', at: new Date().toISOString(), released_at: null },
    ...columns,
  });

const release = (id: number) => api.request('POST', `${PATH}/${id}/release`);

/** The reports of a message to the webhook. */
function reportsOf(id: number): Promise<object[]> {
  return rows(
    `select e.data from webhook_deliveries d join events e on e.id = d.event_id
     where d.webhook_id = $1 and (e.data->>'conversation_message_id')::bigint = $2`,
    [webhookId, id],
  );
}

describe('GET /inbox_quarantine', () => {
  it('lists what is in quarantine, with the reason, and nothing else', async () => {
    const spam = await quarantined('spam', {
      html: '<img src="https://t.example/p.png">Buy<script>1</script>',
    });
    const blocked = await quarantined('blocked');
    const conversation_id = await insertConversation(api, api, { inbox_id });
    await insertConversationMessage(api, api, { inbox_id, conversation_id });
    const all = await api.request('GET', `${PATH}?inbox_id=${inbox_id}`);
    expect(all.list.map(({ id }) => id)).toEqual([blocked, spam]);
    expect(all.headers.get('x-total-count')).toBe('2');
    const { list } = await api.request('GET', `${PATH}?inbox_id=${inbox_id}&reason=spam`);
    expect(list).toEqual([
      expect.objectContaining({
        id: spam,
        conversation_id: null,
        inbox_id,
        html: 'Buy',
        quarantine: { reason: 'spam', detail: 'score 9', released_at: null },
      }),
    ]);
  });

  it('does not let attachments be downloaded', async () => {
    const id = await quarantined('spam');
    const attachment = await insertAttachment(api, api, { conversation_message_id: id });
    const conversation = await insertConversation(api, api, { inbox_id });
    const path = `/v1/my/conversations/${conversation}/messages/${id}/attachments/${attachment}`;
    expect((await api.request('GET', path)).status).toBe(404);
  });
});

describe('a release', () => {
  it.each(['spam', 'blocked', 'unreadable'])(
    'of mail that is %s makes it arrive and reports it',
    async (reason) => {
      const id = await quarantined(reason);
      const { status, body } = await release(id);
      expect(status).toBe(200);
      expect(body).toMatchObject({ id, quarantine: { reason, released_at: expect.any(String) } });
      const conversation = await api.request('GET', `/v1/my/conversations/${Number(body.conversation_id)}`);
      expect(conversation.body).toMatchObject({ inbox_id, subject: 'Question', unread_count: 1 });
      expect((await api.request('GET', `${PATH}?inbox_id=${inbox_id}`)).list).toEqual([]);
      expect(await reportsOf(id)).toHaveLength(1);
    },
  );

  it('happens once, however many ask for it at the same time', async () => {
    const id = await quarantined('spam');
    const answers = await Promise.all([1, 2, 3, 4].map(() => release(id)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422]);
    expect(answers.find(({ status }) => status === 422)?.body.code).toBe('invalid_transition');
    expect(await reportsOf(id)).toHaveLength(1);
  });

  it('of a virus is refused', async () => {
    const id = await quarantined('virus');
    const { status, body } = await release(id);
    expect([status, body.code]).toEqual([422, 'invalid_transition']);
    expect(await reportsOf(id)).toEqual([]);
  });

  it('of a message that never was in quarantine is 404', async () => {
    const conversation_id = await insertConversation(api, api, { inbox_id });
    const id = await insertConversationMessage(api, api, { inbox_id, conversation_id });
    expect((await release(id)).status).toBe(404);
  });
});

describe('a deletion', () => {
  it('removes the message, and marks its files as removed', async () => {
    const id = await quarantined('virus', {
      raw_key: `inbox/${api.accountId}/${'0'.repeat(32)}`,
      raw_size: 5,
    });
    await insertAttachment(api, api, { conversation_message_id: id, size: 7 });
    const { status, body } = await api.request('DELETE', `${PATH}/${id}`);
    expect([status, body.id]).toEqual([200, id]);
    expect((await api.request('DELETE', `${PATH}/${id}`)).status).toBe(404);
    const files = await rows<{ size: number }>(
      'select size from inbox_removed_files where account_id = $1 order by size',
      [api.accountId],
    );
    expect(files.map(({ size }) => size)).toEqual([5, 7]);
  });

  it('of a released message is refused', async () => {
    const id = await quarantined('spam');
    await release(id);
    const { status, body } = await api.request('DELETE', `${PATH}/${id}`);
    expect([status, body.code]).toEqual([422, 'invalid_transition']);
  });
});

describe('a release of mail that is to be scanned', () => {
  let scanning: TestApi;
  beforeAll(async () => {
    scanning = await startTestApi({ env: { CLAMD_URL: 'tcp://127.0.0.1:3310' } });
  });
  afterAll(() => scanning.close());

  it('requests the scan, leaves it to the scan to let the mail arrive, and happens once', async () => {
    const inbox = await insertInbox(scanning.database, scanning, 'support@inbox.test');
    const id = await insertQuarantined(scanning, scanning, { inbox_id: inbox });
    const skipped = { conversation_message_id: id, scan_status: 'skipped' };
    await insertAttachment(scanning, scanning, { ...skipped, scan_reason: 'quarantined' });
    await insertAttachment(scanning, scanning, { ...skipped, scan_reason: 'encrypted' });
    const { status, body } = await scanning.request('POST', `${PATH}/${id}/release`);
    expect([status, body.conversation_id]).toEqual([200, null]);
    expect(body.quarantine?.released_at).not.toBeNull();
    expect(body.attachments).toMatchObject([
      { scan: { status: 'pending', reason: null } },
      { scan: { status: 'skipped', reason: 'encrypted' } },
    ]);
    const { rows: found } = await scanning.database.pool.query(
      `select m.scan_state, m.engine_expected_by is not null as expected, o.kind
       from conversation_messages m join outbox o on o.workflow_id = 'inbox-scan/' || m.id where m.id = $1`,
      [id],
    );
    expect(found).toEqual([{ scan_state: 'pending', expected: true, kind: 'start' }]);
    expect((await scanning.request('GET', PATH)).list).toEqual([]);
    const again = await scanning.request('POST', `${PATH}/${id}/release`);
    expect([again.status, again.body.code]).toEqual([422, 'invalid_transition']);
    expect((await scanning.request('DELETE', `${PATH}/${id}`)).body.code).toBe('invalid_transition');
  });
});
