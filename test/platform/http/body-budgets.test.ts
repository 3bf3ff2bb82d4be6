// Bodies in memory are bounded for a process, an account and a network of strangers; genuine callbacks have room of their own.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Overload } from '../../../src/errors.ts';
import { createBodyBudgets } from '../../../src/platform/http/body-budgets.ts';
import { createFileSink } from '../../../src/platform/http/file-sink.ts';
import { defineRoute } from '../../../src/platform/http/route.ts';
import { createHomeStore } from '../../../src/platform/storage/local-disk.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';
import { probeRoutes } from '../../support/probe-routes.ts';
import { addTestProvider, sendgridCallback } from '../../support/signed-callbacks.ts';

const MIB = 1024 * 1024;
const FILES = '/v1/my/probe/files';
const ENV = {
  TRUSTED_PROXIES: '127.0.0.1',
  STRIPE_SECRET_KEY: 'sk_test',
  STRIPE_WEBHOOK_SECRET: 'whsec_test',
};

let home: string;
let api: TestApi;
let callbackPath: string;
const clients: net.Socket[] = [];

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'carillon-home-'));
  const storing = defineRoute({
    method: 'POST',
    path: FILES,
    operationId: 'probeFile',
    tag: 'Probe',
    summary: 'Store a file',
    auth: 'brand',
    testKeys: 'allowed',
    idempotency: 'none',
    multipart: {
      file: 'file',
      maxFileBytes: 40 * MIB,
      sink: createFileSink({ store: createHomeStore(home), kind: 'imports', maxAtOnce: 20 }),
    },
    responses: { 200: { description: 'The result', schema: null } },
    handler: ({ stored }) => ({ status: 200, body: { size: stored?.size } }),
  });
  api = await startTestApi({ env: ENV, extraRoutes: [...probeRoutes, storing] });
  const { kind, callbackToken } = await addTestProvider(api.database.pool, 'grid', 'sendgrid');
  callbackPath = `/callbacks/${kind.name}/${callbackToken}`;
});
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
});
afterAll(async () => {
  await api.close();
  await rm(home, { recursive: true, force: true });
});

interface Held {
  socket: net.Socket;
  seen(): string;
}

/** Sends a request of which one byte is missing. */
function hold(path: string, bytes: number, headers: Record<string, string>, begin = ''): Held {
  const socket = net.connect({ port: api.port, host: '127.0.0.1' });
  clients.push(socket);
  let seen = '';
  socket.on('data', (data) => (seen += data.toString('latin1')));
  socket.on('error', () => undefined);
  const all = { Host: 'x', 'Content-Length': String(bytes + 1), ...headers };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST ${path} HTTP/1.1\r\n${head.join('')}\r\n${begin}`);
  socket.write(Buffer.alloc(bytes - begin.length, 'x'));
  return { socket, seen: () => seen };
}

const withKey = (apiKey: string) => ({
  Authorization: `Bearer ${apiKey}`,
  'Content-Type': 'application/json',
});
/** A payment service's notification, of a network's address. */
const holdOfStranger = (address: string) =>
  hold('/payments/stripe', 256 * 1024 - 1, { 'X-Forwarded-For': address });

/** @returns a function that sends requests again that were refused, and returns how many */
function holding(count: number, begin: (n: number) => Held): () => number {
  const held: Held[] = [];
  return () => {
    let sent = 0;
    for (let n = 0; n < count; n += 1) {
      const known = held[n];
      if (known?.seen() === '' && !known.socket.destroyed) continue;
      held[n] = begin(n);
      sent += 1;
    }
    return sent;
  };
}

/** A request with a body of nearly 5 MB, or of another size. */
function echo(token: string, bytes = 5_000_000) {
  const headers = { 'Content-Type': 'application/json' };
  return api.request('POST', '/v1/my/probe/echo/1', {
    token,
    rawBody: `{"subject":"x","data":{"a":"${'y'.repeat(bytes)}"}}`,
    headers,
  });
}
/** Tries to log in as an unknown user: 401 if the body was read. */
function logIn(address: string) {
  const body = { user: { email: `${randomUUID()}@acme.test`, password: 'wrong' } };
  return api.request('POST', '/v1/login', { token: null, body, headers: { 'X-Forwarded-For': address } });
}
async function callBack() {
  const { body, headers } = sendgridCallback([{ event: 'processed', reference: 'x'.repeat(500_000) }]);
  return (await fetch(`${api.baseUrl}${callbackPath}`, { method: 'POST', body, headers })).status;
}

describe('a body', () => {
  it('is 503 beyond the 16 MiB of its account, and no other account waits', async () => {
    const topUp = holding(3, () => hold('/v1/my/probe/echo/1', 5_000_000, withKey(api.apiKey)));
    await eventually(async () => {
      expect(topUp()).toBe(0);
      const refused = await echo(api.apiKey);
      expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
        503,
        'unavailable',
        '2',
      ]);
    });
    expect((await echo(api.other.apiKey)).status).toBe(200);
    for (const client of clients.splice(0)) client.destroy();
    await eventually(async () => expect((await echo(api.apiKey)).status).toBe(200));
  });

  it('counts as much as has arrived of it, and what it announces only against large ones', async () => {
    const head = { ...withKey(api.apiKey), 'Content-Length': String(5 * MIB) };
    for (let n = 0; n < 8; n += 1) hold('/v1/my/probe/echo/1', 1_000, head);
    expect((await echo(api.apiKey, 1_000_000)).status).toBe(200);
    expect((await echo(api.other.apiKey)).status).toBe(200);
  });

  it('of a stranger is 503 beyond the 1 MiB of the network, and no other network waits', async () => {
    const topUp = holding(4, () => holdOfStranger('192.0.2.1'));
    await eventually(async () => {
      expect(topUp()).toBe(0);
      expect((await logIn('192.0.2.1')).status).toBe(503);
    });
    expect((await logIn('192.0.2.2')).status).toBe(401);
  });

  it('of strangers is 503 beyond 8 MiB of them all, and genuine callbacks and callers with a key are answered', async () => {
    const topUp = holding(32, (n) => holdOfStranger(`198.51.100.${n % 8}`));
    let tries = 0;
    await eventually(async () => {
      expect(topUp()).toBe(0);
      tries += 1;
      expect((await logIn(`203.0.113.${tries}`)).status).toBe(503);
    });
    expect(await callBack()).toBe(200);
    expect((await echo(api.apiKey)).status).toBe(200);
  });

  it('of a form without a boundary takes up nothing of the budget once it is refused', async () => {
    const headers = { 'Content-Type': 'multipart/form-data; charset=utf-8' };
    const rawBody = 'x'.repeat(3_000_000);
    const statuses: number[] = [];
    for (let n = 0; n < 6; n += 1) {
      statuses.push((await api.request('POST', '/v1/my/uploads', { rawBody, headers })).status);
    }
    expect((await echo(api.apiKey)).status).toBe(200);
    expect(new Set(statuses)).toEqual(new Set([415]));
  });

  it('of a stored file counts in no budget, and of 17 files one is 503', async () => {
    const headers = { ...withKey(api.apiKey), 'Content-Type': 'multipart/form-data; boundary=x' };
    const begin = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n';
    const held = Array.from({ length: 17 }, () => hold(FILES, 2 * MIB, headers, begin));
    await eventually(() => {
      const refused = held.filter(({ seen }) => seen() !== '');
      expect(refused.map(({ seen }) => seen())).toEqual([
        expect.stringMatching(/^HTTP\/1.1 503 [^]*Retry-After: 10\r\n/),
      ]);
    });
    expect((await echo(api.apiKey)).status).toBe(200);
  });
});

describe('the budgets', () => {
  it('count a body until it is released, and report refusals now and then', () => {
    const reports: unknown[] = [];
    let nowMs = 0;
    const budgets = createBodyBudgets(
      (facts) => reports.push(facts),
      () => nowMs,
    );
    const first = budgets.open('account', '1');
    first.take(10 * MIB);
    first.take(6 * MIB);
    const second = budgets.open('account', '1');
    expect(() => second.take(1)).toThrow(Overload);
    expect(() => second.take(1)).toThrow(Overload);
    expect(reports).toEqual([{ budget: 'account' }]);
    budgets.open('account', '2').take(MIB);
    first.release();
    first.release();
    second.take(16 * MIB);
    nowMs += 30_000;
    expect(() => second.take(1)).toThrow(Overload);
    expect(reports).toHaveLength(2);
  });

  it('make room for a large body at once, for what arrives within five seconds', () => {
    jest.useFakeTimers();
    try {
      const budgets = createBodyBudgets(() => undefined);
      const meters = Array.from({ length: 4 }, (_, n) => budgets.open('account', String(n)));
      for (const meter of meters.slice(0, 4)) meter.reserve(9 * MIB);
      const reserve = (caller: string, mib: number) => () =>
        budgets.open('account', caller).reserve(mib * MIB);
      expect(reserve('x', 9)).toThrow(Overload);
      expect(reserve('0', 8)).toThrow(Overload);
      // Small bodies find room, whatever the others announce.
      const small = Array.from({ length: 64 }, (_, n) => budgets.open('account', `small ${n}`));
      for (const meter of small) {
        meter.reserve(MIB);
        meter.take(MIB);
      }
      expect(() => meters[0]?.take(1)).toThrow(Overload);
      for (const meter of small) meter.release();
      meters[0]?.take(9 * MIB);
      meters[0]?.release();
      meters[1]?.take(MIB);
      expect(reserve('y', 9)).not.toThrow();
      jest.advanceTimersByTime(5_000);
      // One megabyte has arrived.
      for (const caller of ['1', 'a']) expect(reserve(caller, 15)).not.toThrow();
      expect(reserve('b', 5)).not.toThrow();
      expect(reserve('c', 2)).toThrow(Overload);
    } finally {
      jest.useRealTimers();
    }
  });
  it('report each by itself', () => {
    const reports: unknown[] = [];
    const budgets = createBodyBudgets((facts) => reports.push(facts));
    expect(() => budgets.open('stranger', 'x').take(2 * MIB)).toThrow(Overload);
    expect(() => budgets.open('account', '1').take(17 * MIB)).toThrow(Overload);
    expect(() => budgets.open('stranger', 'y').take(2 * MIB)).toThrow(Overload);
    expect(reports).toEqual([{ budget: 'stranger' }, { budget: 'account' }]);
  });

  it('count nothing that arrives after the release', () => {
    const budgets = createBodyBudgets(() => undefined);
    const late = budgets.open('account', '1');
    late.release();
    late.take(16 * MIB);
    budgets.open('account', '1').take(16 * MIB);
  });

  it('bound all accounts together', () => {
    const budgets = createBodyBudgets(() => undefined);
    for (let n = 0; n < 4; n += 1) budgets.open('account', String(n)).take(16 * MIB);
    expect(() => budgets.open('account', '4').take(1)).toThrow(Overload);
    budgets.open('stranger', '4').take(MIB);
    budgets.open('provider', '4').take(8 * MIB);
    expect(() => budgets.open('provider', '5').take(1)).toThrow(Overload);
  });
});
