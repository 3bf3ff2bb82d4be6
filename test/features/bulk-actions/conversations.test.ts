// A bulk action on conversations deletes those that match its filter, and no others, whatever interrupts it.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createRecipientFence } from '../../../src/delivery/ledger/consent/recipient-fence.ts';
import { advanceBulkAction, type BulkActionRunDeps } from '../../../src/features/bulk-actions/run.ts';
import { lockInboxes } from '../../../src/features/inbox/arrival/arriving-mails.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi, type TestBody, type TestTenant } from '../../support/api.ts';
import { insertConversation, insertConversationMessage } from '../../support/conversations.ts';
import { eventually } from '../../support/eventually.ts';
import { insertInbox } from '../../support/inboxes.ts';
import { countWaiting } from '../../support/waiting.ts';
import { testKeyring } from '../../support/webhooks.ts';

const PATH = '/v1/my/conversations/bulk_actions';

let api: TestApi;
let inbox: number;
beforeAll(async () => {
  api = await startTestApi();
  inbox = await insertInbox(api.database, api, 'support@inbox.test');
});
beforeEach(() => query('truncate conversations, bulk_actions, outbox, inbox_removed_files cascade'));
afterAll(() => api.close());

const query = (text: string, values: unknown[] = []) => api.database.pool.query(text, values);

/** A conversation with one mail. */
async function conversation(
  columns: Record<string, unknown> = {},
  mail: Record<string, unknown> = {},
  tenant: TestTenant = api,
): Promise<number> {
  const id = await insertConversation(api, tenant, { inbox_id: inbox, ...columns });
  await insertConversationMessage(api, tenant, { inbox_id: inbox, conversation_id: id, ...mail });
  return id;
}

const left = async () =>
  (await query('select id from conversations order by id')).rows.map(({ id }) => Number(id));
const get = async (id: unknown) => (await api.request('GET', `${PATH}/${String(id)}`)).body;

async function create(filter: object, more: object = {}): Promise<TestBody> {
  const { status, body } = await api.request('POST', PATH, { body: { action: 'delete', filter, ...more } });
  expect([status, body]).toEqual([201, expect.objectContaining({ status: 'queued', action: 'delete' })]);
  return body;
}

/** Small pages, so that a few conversations take several. */
const small = { scanRows: 7, pageRows: 3 };

function advance(id: unknown, options: Partial<BulkActionRunDeps> = {}) {
  const deps = {
    pool: api.database.pool,
    consent: { keyring: testKeyring, plusAddresses: false },
    fence: createRecipientFence(api.database.pool),
    ...small,
    ...options,
  };
  const turn = { progress: () => undefined, stopping: new AbortController().signal };
  return advanceBulkAction(deps, Number(id), turn);
}

/** Runs an action as its workflow does. @returns the action as clients see it */
async function run(filter: object, more: object = {}): Promise<TestBody> {
  const { id } = await create(filter, more);
  await advance(id);
  return get(id);
}

describe('POST /v1/my/conversations/bulk_actions', () => {
  it('creates an action, and requests its workflow', async () => {
    const made = await create({ status: 'open' });
    expect(made).toEqual({
      id: expect.any(Number),
      action: 'delete',
      filter: { status: 'open' },
      dry_run: false,
      status: 'queued',
      error: null,
      total_count: null,
      processed_count: 0,
      changed_count: 0,
      failed_count: 0,
      created_at: expect.any(String),
      started_at: null,
      finished_at: null,
    });
    const { rows } = await query('select workflow_id from outbox');
    expect(rows).toEqual([{ workflow_id: `bulk/${String(made.id)}` }]);
  });

  it.each([
    [{ filter: { all: true } }, 'action'],
    [{ action: 'close', filter: { all: true } }, 'action'],
    [{ action: 'delete' }, 'filter'],
    [{ action: 'delete', filter: {} }, 'filter'],
    [{ action: 'delete', filter: { statu: 'open' } }, 'filter.statu'],
    [{ action: 'delete', filter: { email: 'nobody' } }, 'filter.email'],
    [{ action: 'delete', filter: { domain: 'a b' } }, 'filter.domain'],
    [{ action: 'delete', filter: { all: true }, list_id: 1 }, 'list_id'],
  ])('refuses %j', async (body, field) => {
    const { status, body: refused } = await api.request('POST', PATH, { body });
    expect([status, Object.keys(refused.validation_errors ?? {})[0]]).toEqual([422, field]);
    expect((await query('select 1 from bulk_actions')).rowCount).toBe(0);
  });

  it('is refused to members', async () => {
    const { userJwt: token } = await api.addUser('member');
    const body = { action: 'delete', filter: { all: true } };
    expect((await api.request('POST', PATH, { body, token })).status).toBe(403);
  });

  it('lists and shows its actions apart from those on contacts', async () => {
    const own = await create({ all: true });
    const body = { action: 'delete', filter: { all: true } };
    const { body: other } = await api.request('POST', '/v1/my/contacts/bulk_actions', { body });
    const listed = async (path: string) => (await api.request('GET', path)).list.map(({ id }) => id);
    expect(await listed(PATH)).toEqual([own.id]);
    expect(await listed('/v1/my/contacts/bulk_actions')).toEqual([other.id]);
    for (const path of [`${PATH}/${String(other.id)}`, `/v1/my/contacts/bulk_actions/${String(own.id)}`])
      expect((await api.request('GET', path)).status).toBe(404);
    const { status, body: canceled } = await api.request('POST', `${PATH}/${String(own.id)}/cancel`, {
      body: {},
    });
    expect([status, canceled.status]).toEqual([200, 'canceled']);
  });
});

describe('a bulk action on conversations', () => {
  it('deletes what matches, with its messages, and nothing of others', async () => {
    for (let n = 0; n < 20; n += 1) await conversation({ status: 'closed' }, { raw_key: `inbox/1/${n}` });
    const open = await conversation();
    const foreign = await conversation({ status: 'closed' }, {}, api.other);
    const done = await run({ status: 'closed' });
    expect(done).toMatchObject({
      status: 'completed',
      total_count: 20,
      processed_count: 20,
      changed_count: 20,
      failed_count: 0,
    });
    expect(await left()).toEqual([open, foreign]);
    expect((await query('select 1 from inbox_removed_files')).rowCount).toBe(20);
  });

  it('only counts in a dry run', async () => {
    await conversation();
    expect(await run({ all: true }, { dry_run: true })).toMatchObject({
      status: 'completed',
      total_count: 1,
    });
    expect(await left()).toHaveLength(1);
  });

  it('selects by participants, proof of the sender, time and the rest', async () => {
    const sales = await insertInbox(api.database, api, `sales${Date.now()}@inbox.test`);
    const eve = await conversation({ participants: ['eve@mail.spam.example'] }, { sender_trusted: false });
    const ada = await conversation({
      inbox_id: sales,
      contact_id: 7,
      assignee_id: api.userId,
      unread_count: 1,
    });
    const old = await conversation({ created_at: new Date('2026-01-01T00:00:00Z'), status: 'closed' });
    const cases: [object, number[]][] = [
      [{ email: 'Eve@mail.spam.example' }, [eve]],
      [{ domain: 'spam.example' }, [eve]],
      [{ domain: 'am.example' }, []],
      [{ proved: false }, [eve]],
      [{ proved: true }, [ada, old]],
      [{ inbox_id: sales }, [ada]],
      [{ contact_id: 7 }, [ada]],
      [{ assignee_id: api.userId }, [ada]],
      [{ unread: true }, [ada]],
      [{ created_before: '2026-02-01T00:00:00Z' }, [old]],
      [{ created_after: '2026-02-01T00:00:00Z', status: 'open' }, [eve, ada]],
      [{ all: true }, [eve, ada, old]],
    ];
    for (const [filter, matching] of cases) {
      const { total_count: total } = await run(filter, { dry_run: true });
      expect([filter, total]).toEqual([filter, matching.length]);
    }
  });

  it('does not concern conversations that begin later', async () => {
    await conversation();
    const { id } = await create({ all: true });
    const later = await conversation();
    await advance(id);
    expect(await left()).toEqual([later]);
  });

  it('keeps a conversation that no longer matches once the mail that arrives in it is written', async () => {
    const kept = await conversation({ status: 'closed' });
    await conversation({ status: 'closed' });
    const { id } = await create({ status: 'closed' });
    let running = Promise.resolve<unknown>(null);
    await inTransaction(api.database.pool, async (arriving) => {
      await lockInboxes(arriving, [inbox]);
      running = advance(id);
      await eventually(async () => expect(await countWaiting(api.database.pool)).toBe(1));
      await arriving.query(`update conversations set status = 'open' where id = $1`, [kept]);
    });
    await running;
    expect(await left()).toEqual([kept]);
    expect(await get(id)).toMatchObject({ status: 'completed', changed_count: 1 });
  });

  it('that a process of the version before has begun counts conversations, not contacts', async () => {
    await conversation();
    const { id } = await create({ all: true });
    // That process then fails, because it finds no filters that it knows.
    await query(
      `update bulk_actions set status = 'counting', started_at = now(), last_id = 0 where id = $1`,
      [id],
    );
    const { rows } = await query('select pinned from bulk_actions where id = $1', [id]);
    expect(rows).toEqual([{ pinned: { up_to: expect.any(Number) } }]);
    await advance(id);
    expect(await get(id)).toMatchObject({ status: 'completed', total_count: 1, changed_count: 1 });
    expect(await left()).toEqual([]);
  });
});
