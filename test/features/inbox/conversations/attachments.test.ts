// Attachments and whole mails are sent as downloads; infected ones never, unscanned ones only if acknowledged.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseByteRange } from '../../../../src/features/inbox/conversations/byte-range.ts';
import { newBlobKey } from '../../../../src/platform/storage/blob-store.ts';
import { createHomeStore } from '../../../../src/platform/storage/local-disk.ts';
import { startTestApi, type TestApi } from '../../../support/api.ts';
import {
  insertAttachment,
  insertConversation,
  insertConversationMessage,
  insertQuarantined,
} from '../../../support/conversations.ts';
import { insertInbox } from '../../../support/inboxes.ts';

let home: string;
let api: TestApi;
let inbox_id: number;
let conversation_id: number;
let messageId: number;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'carillon-test-'));
  api = await startTestApi({ env: { CARILLON_HOME: home } });
  inbox_id = await insertInbox(api.database, api, 'support@inbox.test');
  conversation_id = await insertConversation(api, api, { inbox_id });
  messageId = await insertConversationMessage(api, api, { inbox_id, conversation_id });
});
afterAll(async () => {
  await api.close();
  await rm(home, { recursive: true });
});

const CONTENT = '0123456789';

async function attach(columns: Record<string, unknown> = {}): Promise<number> {
  const storage_key = newBlobKey('inbox', api.accountId);
  await createHomeStore(home).put(storage_key, Buffer.from(CONTENT));
  return insertAttachment(api, api, { conversation_message_id: messageId, storage_key, ...columns });
}

interface Asked {
  query?: string;
  headers?: Record<string, string>;
  conversation?: number;
  message?: number;
}

function download(id: number, { query = '', headers = {}, conversation, message }: Asked = {}) {
  const path = `/v1/my/conversations/${conversation ?? conversation_id}/messages/${message ?? messageId}`;
  return api.request('GET', `${path}/attachments/${id}${query}`, { headers });
}

describe('an attachment', () => {
  it('is sent as a download that no browser runs', async () => {
    const { status, text, headers } = await download(await attach({ filename: 'Rechnung ä.pdf' }));
    expect([status, text]).toEqual([200, CONTENT]);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/pdf',
      'content-length': '10',
      'content-disposition': `attachment; filename="Rechnung _.pdf"; filename*=UTF-8''Rechnung%20%C3%A4.pdf`,
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
    });
  });

  it.each(['text/html', 'image/svg+xml', 'application/xml', 'application/xhtml+xml', 'text/javascript'])(
    'of type %s is sent as bytes of unknown type',
    async (content_type) => {
      const { headers } = await download(await attach({ content_type }));
      expect(headers.get('content-type')).toBe('application/octet-stream');
    },
  );

  it('is 404 if its ids do not belong together', async () => {
    const id = await attach();
    const other = await insertConversation(api, api, { inbox_id });
    const message = await insertConversationMessage(api, api, { inbox_id, conversation_id: other });
    expect((await download(id, { conversation: other })).status).toBe(404);
    expect((await download(id, { message })).status).toBe(404);
    expect((await download(id, { conversation: other, message })).status).toBe(404);
    expect((await download(id)).status).toBe(200);
  });

  it('is 404 if it is infected, even if the client acknowledges', async () => {
    const infected = await attach({ scan_status: 'infected' });
    const query = '?acknowledge_unscanned=true';
    expect((await download(infected, { query })).status).toBe(404);
    const removed = await attach({ scan_status: 'infected', storage_key: null });
    expect((await download(removed, { query })).status).toBe(404);
  });

  it.each(['pending', 'skipped'])('that is %s must be acknowledged', async (scan_status) => {
    const id = await attach({ scan_status, scan_reason: 'encrypted' });
    const refused = await download(id);
    expect([refused.status, refused.body.code]).toEqual([422, 'unscanned_attachment']);
    expect((await download(id, { query: '?acknowledge_unscanned=false' })).status).toBe(422);
    const { status, text } = await download(id, { query: '?acknowledge_unscanned=true' });
    expect([status, text]).toEqual([200, CONTENT]);
  });

  it('is 404 if its file is gone', async () => {
    const id = await attach({ storage_key: newBlobKey('inbox', api.accountId) });
    expect((await download(id)).status).toBe(404);
  });
});

describe('a part of an attachment', () => {
  it.each([
    ['bytes=0-3', '0123', 'bytes 0-3/10'],
    ['bytes=4-', '456789', 'bytes 4-9/10'],
    ['bytes=-2', '89', 'bytes 8-9/10'],
    ['bytes=8-100', '89', 'bytes 8-9/10'],
  ])('is sent for %s', async (range, expected, contentRange) => {
    const { status, text, headers } = await download(await attach(), { headers: { Range: range } });
    expect([status, text]).toEqual([206, expected]);
    expect(headers.get('content-range')).toBe(contentRange);
    expect(headers.get('content-length')).toBe(String(expected.length));
  });

  it('is refused beyond the end, with the size of the file', async () => {
    const { status, body, headers } = await download(await attach(), { headers: { Range: 'bytes=10-' } });
    expect([status, body.code]).toEqual([416, 'range_not_satisfiable']);
    expect(headers.get('content-range')).toBe('bytes */10');
  });

  it('is sent only if If-Range has the tag of the file', async () => {
    const id = await attach();
    const etag = (await download(id)).headers.get('etag') ?? '';
    const partOf = async (tag: string) =>
      (await download(id, { headers: { Range: 'bytes=0-0', 'If-Range': tag } })).status;
    expect(await partOf(etag)).toBe(206);
    expect(await partOf('"another"')).toBe(200);
  });
});

describe('parseByteRange', () => {
  it.each([undefined, '', 'bytes=', 'bytes=-', 'items=0-1', 'bytes=0-1,3-4', 'bytes=3-1', 'bytes=a-b'])(
    'returns the whole file for %j',
    (header) => expect(parseByteRange(header, 10)).toBeNull(),
  );

  it('has no satisfiable range of an empty file', () => {
    expect(parseByteRange('bytes=0-', 0)).toBe('unsatisfiable');
    expect(parseByteRange('bytes=-1', 0)).toBe('unsatisfiable');
    expect(parseByteRange('bytes=-0', 5)).toBe('unsatisfiable');
  });
});

describe('a mail as it arrived', () => {
  const RAW = 'From: Ada <ada@example.com>\r\nSubject: Question\r\n\r\n<script>alert(1)</script>\r\n';

  async function keep(columns: Record<string, unknown> = {}): Promise<number> {
    const raw_key = newBlobKey('inbox', api.accountId);
    await createHomeStore(home).put(raw_key, Buffer.from(RAW));
    return insertConversationMessage(api, api, { inbox_id, conversation_id, raw_key, ...columns });
  }
  const pathOf = (id: number, conversation = conversation_id) =>
    `/v1/my/conversations/${conversation}/messages/${id}`;
  const fetchRaw = (id: number, query = '') => api.request('GET', `${pathOf(id)}/raw${query}`);
  const isAvailable = async (id: number) => (await api.request('GET', pathOf(id))).body.raw_available;

  it('is sent as a download that no browser runs', async () => {
    const id = await keep();
    const { status, text, headers } = await fetchRaw(id);
    expect([status, text]).toEqual([200, RAW]);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'message/rfc822',
      'content-length': String(RAW.length),
      'content-disposition': `attachment; filename=message-${id}.eml`,
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
    });
    expect(await isAvailable(id)).toBe(true);
  });

  it.each([
    ['is kept no longer', { raw_key: null }],
    ['is outbound', { raw_key: null, direction: 'outbound', internet_id: null }],
  ])('is 404 if it %s', async (_what, columns) => {
    const id = await keep(columns);
    expect([(await fetchRaw(id)).status, await isAvailable(id)]).toEqual([404, false]);
  });

  it('is 404 if its file is gone, it is in quarantine, or in another conversation', async () => {
    const gone = await keep({ raw_key: newBlobKey('inbox', api.accountId) });
    const held = await insertQuarantined(api, api, { inbox_id, raw_key: newBlobKey('inbox', api.accountId) });
    const other = await insertConversation(api, api, { inbox_id });
    const elsewhere = await keep({ conversation_id: other });
    for (const id of [gone, held, elsewhere]) expect((await fetchRaw(id)).status).toBe(404);
    const listed = await api.request('GET', '/v1/my/inbox_quarantine');
    expect(listed.body).toMatchObject([{ id: held, raw_available: false }]);
  });

  it.each(['pending', 'skipped'])(
    'is only sent with an acknowledgement if a file is %s',
    async (scan_status) => {
      const id = await keep();
      await insertAttachment(api, api, { conversation_message_id: id, scan_status });
      expect((await fetchRaw(id)).body).toMatchObject({ code: 'unscanned_attachment' });
      expect((await fetchRaw(id, '?acknowledge_unscanned=true')).text).toBe(RAW);
    },
  );

  it('is only sent with an acknowledgement if its files were never found, since it could not be read', async () => {
    const at = new Date().toISOString();
    const quarantine = { reason: 'unreadable', detail: 'too many parts', at, released_at: at };
    const id = await keep({ quarantine });
    expect((await fetchRaw(id)).body).toMatchObject({ code: 'unscanned_attachment' });
    expect((await fetchRaw(id, '?acknowledge_unscanned=true')).text).toBe(RAW);
    expect((await fetchRaw(await keep({ quarantine: { ...quarantine, reason: 'spam' } }))).status).toBe(200);
  });

  it('is never sent if a file in it is infected', async () => {
    const id = await keep();
    await insertAttachment(api, api, {
      conversation_message_id: id,
      scan_status: 'infected',
      storage_key: null,
    });
    expect((await fetchRaw(id, '?acknowledge_unscanned=true')).status).toBe(404);
    expect(await isAvailable(id)).toBe(false);
  });

  it('is 404 for another account', async () => {
    const id = await keep();
    const path = `${pathOf(id)}/raw`;
    expect((await api.request('GET', path, { token: api.other.apiKey })).status).toBe(404);
  });
});
