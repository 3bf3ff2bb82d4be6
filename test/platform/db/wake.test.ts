// A wake-up reaches other processes, and wake-ups during a running NOTIFY are merged with their hints.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createWaker, type Waker } from '../../../src/platform/db/wake.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';

let test: TestDatabase;
let waker: Waker;
let listener: Waker;

/** Resolves to the process of the connection whose last statement was this one, once that is done. */
function backendAfter(statement: string, limitMs = 30_000): Promise<number> {
  return eventually(async () => {
    const { rows } = await test.database.pool.query<{ pid: number }>(
      `select pid from pg_stat_activity
       where application_name = 'carillon wake' and datname = current_database() and state = 'idle'
         and query like $1`,
      [`%${statement}%`],
    );
    expect(rows).toHaveLength(1);
    return rows[0]?.pid ?? 0;
  }, limitMs);
}

/** Resolves to the process of the waker's connection, which must be open first. */
function notifier(): Promise<number> {
  return eventually(() => {
    waker.wake('other');
    return backendAfter('notify carillon_other', 500);
  });
}

beforeAll(async () => {
  test = await createTestDatabase();
  waker = createWaker({ url: test.url });
  listener = createWaker({ url: test.url });
});
afterAll(async () => {
  await waker.close();
  await listener.close();
  await test.drop();
});

it('wakes other processes, and merges wake-ups that arrive while a NOTIFY is running', async () => {
  const heard: string[] = [];
  for (const channel of ['send', 'webhook'] as const) listener.listen(channel, () => heard.push(channel));
  await backendAfter('listen carillon_webhook');
  // A listener whose connection was not open yet wakes each channel, for rows may have been committed before.
  await delay(20);
  heard.length = 0;
  const backend = await notifier();
  process.kill(backend, 'SIGSTOP');
  try {
    for (const channel of ['send', 'webhook', 'send', 'webhook', 'send'] as const) {
      waker.wake(channel);
      await delay(20);
    }
  } finally {
    process.kill(backend, 'SIGCONT');
  }
  await eventually(() => expect(heard).toHaveLength(3));
  await delay(200);
  expect(heard).toEqual(['send', 'webhook', 'send']);
});

it('merges hints and passes each on once, but none if a wake-up came without hints', async () => {
  const heard: (readonly string[] | null)[] = [];
  listener.listen('send', (hints) => heard.push(hints));
  await delay(100);
  const backend = await notifier();
  process.kill(backend, 'SIGSTOP');
  try {
    waker.wake('send', ['email/0/1']);
    await delay(20);
    waker.wake('send', ['email/0/1', 'email/0/2']);
    waker.wake('send', ['email/0/2', 'email/0/3']);
    waker.wake('send', []);
  } finally {
    process.kill(backend, 'SIGCONT');
  }
  await eventually(() => expect(heard).toEqual([['email/0/1'], ['email/0/1', 'email/0/2', 'email/0/3']]));
  heard.length = 0;
  const many = Array.from({ length: 2_000 }, (_, n) => `email/0/${n}`);
  waker.wake('send', many);
  await eventually(() => expect(heard.flat()).toHaveLength(many.length));
  expect(heard.flat()).toEqual(many);
  heard.length = 0;
  process.kill(backend, 'SIGSTOP');
  try {
    waker.wake('send', ['email/0/1']);
    await delay(20);
    waker.wake('send');
    waker.wake('send', ['email/0/2']);
  } finally {
    process.kill(backend, 'SIGCONT');
  }
  await eventually(() => expect(heard).toEqual([['email/0/1'], null]));
});
