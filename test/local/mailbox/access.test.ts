// The mailbox answers only under local names and with its token, and no other site can use it.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { createCaptureSmsProvider } from '../../../src/delivery/wire/providers/capture/provider.ts';
import { startMailbox } from '../../../src/local/mailbox/server.ts';
import { openDatabase } from '../../../src/platform/db/database.ts';
import { openMailbox, send, token, type OpenMailbox } from './mailbox-client.ts';
import { outgoingSms } from '../../support/outgoing.ts';

const everyPath = [
  '/',
  '/messages/1',
  '/messages/1/preview',
  '/messages/1/raw',
  '/messages/1/attachments/1',
  '/api/messages',
  '/api/messages/1',
  '/nowhere',
];

describe('access to the mailbox', () => {
  let open: OpenMailbox;
  beforeAll(async () => {
    open = await openMailbox();
  });
  afterAll(() => open.close());

  const visit = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    send(open.mailbox.port, path, { method, headers });

  it.each(everyPath)('is refused without the token: GET %s', async (path) => {
    expect((await visit(path)).status).toBe(401);
    expect((await visit(path, { cookie: open.cookie.replace(/=.*/, '=') })).status).toBe(401);
    expect((await visit(path, { cookie: `${open.cookie}x` })).status).toBe(401);
    expect((await visit(path, { cookie: open.cookie.replace(/=.*/, `=${token}`) })).status).toBe(401);
    expect((await visit(path, { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await visit(path, { authorization: 'Bearer ' })).status).toBe(401);
    expect((await visit(`${path}?token=wrong-token-0123456789`)).status).toBe(401);
    expect((await visit(`${path}?token=`)).status).toBe(401);
  });

  it('is refused with a wrong bearer token, even with a valid cookie', async () => {
    expect((await visit('/', { cookie: open.cookie, authorization: 'Bearer wrong' })).status).toBe(401);
  });

  it('is granted by the link once, then by a cookie that scripts and other sites cannot use', async () => {
    expect(open.mailbox.url).toBe(`http://127.0.0.1:${open.mailbox.port}/?token=${token}`);
    const opened = await visit(`/messages/5?view=text&token=${token}`);
    expect(opened.status).toBe(303);
    expect(opened.headers.location).toBe('/messages/5?view=text');
    const cookie = opened.headers['set-cookie']?.[0] ?? '';
    expect(cookie).toMatch(/; Path=\/; HttpOnly; SameSite=Strict;/);
    expect(cookie).not.toContain(token);
    expect((await open.browse('/')).status).toBe(200);
  });

  it('accepts the token in the address of a page only, and never redirects to another site', async () => {
    expect((await visit(`/api/messages?token=${token}`)).status).toBe(401);
    expect((await visit(`/messages/1/preview?token=${token}`)).status).toBe(401);
    for (const path of [
      '//evil.example/',
      '/.//evil.example/',
      '/%2f/evil.example/',
      'http://evil.example/',
    ]) {
      const { status, headers } = await visit(`${path}?token=${token}`);
      if (status === 303) expect(headers.location).toBe('/');
      else expect([400, 401]).toContain(status);
    }
  });

  it.each([
    'evil.example',
    'evil.example:8025',
    '127.0.0.1.evil.example',
    '169.254.1.1',
    'localhost.evil.example',
  ])('is refused under the host name %p, with or without the token', async (host) => {
    const proofs: Record<string, string>[] = [
      {},
      { cookie: open.cookie },
      { authorization: `Bearer ${token}` },
    ];
    for (const proof of proofs) {
      const reply = await visit('/api/messages', { host, ...proof });
      expect(reply.status).toBe(421);
    }
    expect((await visit(`/?token=${token}`, { host })).headers['set-cookie']).toBeUndefined();
  });

  it.each(['127.0.0.1', 'localhost:9999', '[::1]:8025'])(
    'is granted under the local name %s',
    async (host) => {
      expect((await visit('/', { host, cookie: open.cookie })).status).toBe(200);
    },
  );

  it('rejects with a clear message if the port is taken or the token too short', async () => {
    const log = pino({ level: 'silent' });
    const second = { config: { MAILBOX_PORT: open.mailbox.port }, database: open.test.database, token, log };
    await expect(startMailbox(second)).rejects.toThrow(/port \d+ is taken .* MAILBOX_PORT/);
    await expect(startMailbox({ ...second, token: '' })).rejects.toThrow(/token/);
  });

  it('answers HEAD, refuses unknown methods, and rejects a target that is not a path', async () => {
    expect((await visit('*', { cookie: open.cookie }, 'OPTIONS')).status).toBe(400);
    const put = await visit('/api/messages', { cookie: open.cookie }, 'PUT');
    expect(put.status).toBe(405);
    expect(put.headers.allow).toBe('DELETE, GET, HEAD, OPTIONS');
    const head = await visit('/', { cookie: open.cookie }, 'HEAD');
    expect(head.status).toBe(200);
    expect(head.body).toBe('');
  });

  it('answers 503 without details while the database is unavailable', async () => {
    const log = pino({ level: 'silent' });
    const database = openDatabase({ url: 'postgresql://nobody@127.0.0.1:1/none' });
    const alone = await startMailbox({ config: { MAILBOX_PORT: 0 }, database, token, log });
    const reply = await send(alone.port, '/', { headers: { authorization: `Bearer ${token}` } });
    expect(reply.status).toBe(503);
    expect(reply.body).not.toMatch(/nobody|ECONN/);
    await alone.stop();
    await database.close();
  });

  describe('clearing', () => {
    beforeEach(async () => {
      const provider = createCaptureSmsProvider({ pool: open.test.database.pool });
      await provider.handOver([outgoingSms({ text: 'hi' })]);
    });
    const kept = async () => (await open.ask('/api/messages')).headers['x-total-count'];
    const own = () => `http://127.0.0.1:${open.mailbox.port}`;

    it.each([
      ['another site', { origin: 'https://evil.example' }],
      ['another port of this machine', { origin: 'http://127.0.0.1:3000' }],
      ['a sandboxed frame', { origin: 'null' }],
      ['an unknown origin', {}],
      ['another site, according to the browser', { 'sec-fetch-site': 'same-site' }],
    ])('is refused from %s', async (_where, headers: Record<string, string>) => {
      expect((await visit('/clear', { cookie: open.cookie, ...headers }, 'POST')).status).toBe(403);
      expect((await visit('/api/messages', { cookie: open.cookie, ...headers }, 'DELETE')).status).toBe(403);
      expect((await visit('/clear', headers, 'POST')).status).toBe(401);
      expect((await visit('/clear', { cookie: open.cookie }, 'GET')).status).toBe(405);
      expect(await kept()).toBe('1');
    });

    it('works from the page itself', async () => {
      const reply = await visit('/clear', { cookie: open.cookie, origin: own() }, 'POST');
      expect(reply.status).toBe(303);
      expect(reply.headers.location).toBe('/');
      expect(await kept()).toBe('0');
    });

    it('works for a script with the token', async () => {
      expect((await open.ask('/api/messages', 'DELETE')).body).toEqual({ cleared_count: 1 });
      expect(await kept()).toBe('0');
    });
  });
});
