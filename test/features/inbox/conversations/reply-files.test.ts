// An answer takes files: they leave with it, are shown in the conversation, and are stored once for each key.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestRequest } from '../../../support/api.ts';
import { insertConversation, insertConversationMessage } from '../../../support/conversations.ts';
import { insertVerifiedDomain } from '../../../support/domains.ts';
import { insertInbox } from '../../../support/inboxes.ts';
import { createToolCalls } from '../../../support/tool-calls.ts';

let home: string;
let api: TestApi;
let conversation: number;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'carillon-reply-files-'));
  api = await startTestApi({ env: { CARILLON_HOME: home } });
  await insertVerifiedDomain(api.database, api, 'inbox.test');
  const inbox_id = await insertInbox(api.database, api, 'support@inbox.test');
  conversation = await insertConversation(api, api, { inbox_id });
  await insertConversationMessage(api, api, { inbox_id, conversation_id: conversation });
});
afterAll(async () => {
  await api.close();
  await rm(home, { recursive: true, force: true });
});

const base64 = (text: string) => Buffer.from(text).toString('base64');
const file = { filename: 'a.txt', content: base64('hello') };
const reply = (body: unknown, options: TestRequest = {}) =>
  api.request('POST', `/v1/my/conversations/${conversation}/reply`, { body, ...options });
const blobs = async () => (await readdir(join(home, 'blobs'), { recursive: true }).catch(() => [])).length;
const query = async (text: string, values: unknown[] = []) =>
  (await api.database.pool.query<Record<string, unknown>>(text, values)).rows;

it('takes files, which it shows, and writes them once for each key', async () => {
  const headers = { 'Idempotency-Key': 'files' };
  const sent = await reply({ html: '<p>See the file</p>', attachments: [file] }, { headers });
  expect([sent.status, sent.body.validation_errors ?? {}]).toEqual([201, {}]);
  const files = [{ n: 1, filename: 'a.txt', content_type: expect.stringContaining('text/plain'), size: 5 }];
  expect(sent.body).toMatchObject({ html: expect.stringContaining('See the file'), files, attachments: [] });
  const path = `/v1/my/messages/${Number(sent.body.message_id)}`;
  const message = await api.request('GET', path);
  expect(message.body).toMatchObject({ answers_mail: true, attachments: [{ filename: 'a.txt' }] });
  expect(message.body.recipients).toBeUndefined();
  expect((await api.request('GET', `${path}/attachments/1`)).text).toBe('hello');
  expect(await query('select channel from send_queue where message_id = $1', [sent.body.message_id])).toEqual(
    [{ channel: 'email_whole' }],
  );
  const before = await blobs();
  const again = await reply({ html: '<p>See the file</p>', attachments: [file] }, { headers });
  expect([again.status, again.body.id, again.body.files]).toEqual([201, sent.body.id, sent.body.files]);
  // The fingerprint of a request has the hashes of its files, as for POST /messages.
  const answers = [{ content: 'aGVs\nbG8=' }, { content: base64('hallo') }, { filename: 'b.txt' }].map(
    (other) => reply({ html: '<p>See the file</p>', attachments: [{ ...file, ...other }] }, { headers }),
  );
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([201, 409, 409]);
  expect(await blobs()).toBe(before);
  const { list } = await api.request('GET', `/v1/my/conversations/${conversation}/messages`);
  expect(list.map((each) => each.files)).toEqual([sent.body.files, undefined]);
});

it('stores a file again that is removed before the message names it', async () => {
  await query(`create sequence losses;
    create function lose() returns trigger language plpgsql as $$ begin
      if nextval('losses') = 1 then delete from attachment_files where sha256 = new.sha256; end if; return null; end $$;
    create trigger lose after insert on attachment_files for each row execute function lose()`);
  const { status, body } = await reply({
    text: 'Hi',
    attachments: [{ filename: 'b.txt', content: base64('lost') }],
  });
  expect(status).toBe(201);
  const { text } = await api.request('GET', `/v1/my/messages/${Number(body.message_id)}/attachments/1`);
  expect(text).toBe('lost');
});

it('refuses what a message refuses, and files of assistants', async () => {
  const count = () => query('select count(*)::int as n from messages');
  const before = [await count(), await blobs()];
  const bad = await reply({ text: 'Hi', attachments: [{ filename: 'a.exe', content: base64('x') }] });
  expect([bad.status, Object.keys(bad.body.validation_errors ?? {})]).toEqual([
    422,
    ['attachments.0.filename'],
  ]);
  const given = { id: conversation, text: 'Hi', attachments: [file] };
  const args = { operation: 'reply_to_conversation', arguments: given, idempotency_key: 'assistant' };
  const answer = await createToolCalls(api).call(api, 'change_operation', args);
  expect(answer).toMatchObject({
    code: 'validation_error',
    validation_errors: { attachments: expect.any(Array) },
  });
  expect([await count(), await blobs()]).toEqual(before);
});
