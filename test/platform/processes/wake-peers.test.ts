// Processes of one machine wake each other through sockets, and through the database as soon as others need it.
import { createHash } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat, utimes } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { createWaker, type Waker } from '../../../src/platform/db/wake.ts';
import { peersOf } from '../../../src/platform/processes/wake-peers.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';

/** How often a process looks for others. */
const LOOK_MS = 200;

let test: TestDatabase;
let home: string;
let open: Waker[];
/** On another machine. */
let remote: Waker;
let heardByRemote: (readonly string[])[];

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'carillon-home-'));
  open = [];
  heardByRemote = [];
  remote = createWaker({ url: test.url });
  // It hears null once its connection is open.
  remote.listen('send', (hints) => hints && heardByRemote.push(hints));
  await setLive(3);
});
afterEach(async () => {
  for (const waker of [...open, remote]) await waker.close();
  await rm(home, { recursive: true });
});

/** Makes so many processes live. */
async function setLive(count: number): Promise<void> {
  await test.database.pool.query('delete from processes');
  await test.database.pool.query(
    `insert into processes (role, host, pid, seen_at)
     select 'sender', 'x', n, now() + interval '1 hour' from generate_series(1, $1) n`,
    [count],
  );
}

function startPeer(): Waker {
  const config = { CARILLON_HOME: home, DATABASE_URL: test.url, DATABASE_DIRECT_URL: undefined };
  const waker = createWaker(
    { url: test.url },
    peersOf({
      config,
      db: test.database.pool,
      log: pino({ level: 'silent' }),
      self: { host: 'x', pid: open.length + 1 },
      lookMs: LOOK_MS,
    }),
  );
  open.push(waker);
  return waker;
}

const sockets = async (): Promise<string[]> => {
  const [database] = await readdir(join(home, 'wake')).catch(() => []);
  if (database === undefined) return [];
  const folder = join(home, 'wake', database);
  return (await readdir(folder)).map((name) => join(folder, name));
};

/** Wakes until a NOTIFY follows. */
const untilNotified = (waker: Waker, hints = ['probe']) =>
  eventually(() => {
    waker.wake('send', hints);
    expect(heardByRemote).not.toEqual([]);
  });

/** Ends the last process that is no peer, and wakes until no NOTIFY follows. */
async function untilPeers(waker: Waker): Promise<void> {
  // Only then the connection is open.
  await untilNotified(waker);
  await setLive(2);
  await eventually(async () => {
    heardByRemote.length = 0;
    waker.wake('send', ['probe']);
    await delay(100);
    expect(heardByRemote).toEqual([]);
  });
}

const soleSocket = () =>
  eventually(async () => {
    const [first, ...others] = await sockets();
    expect(others).toEqual([]);
    return first ?? expect(first).toBeDefined();
  }) as Promise<string>;

it('wakes the listeners of a channel without the database, with the hints', async () => {
  const [one, other] = [startPeer(), startPeer()];
  const heard: (readonly string[] | null)[] = [];
  const unwanted: unknown[] = [];
  other.listen('send', (hints) => heard.push(hints));
  other.listen('webhook', (hints) => unwanted.push(hints));
  await untilPeers(one);
  unwanted.length = 0;
  one.wake('send', ['email/0/1', 'email/0/2']);
  await eventually(() => expect(heard).toContainEqual(['email/0/1', 'email/0/2']));
  heard.length = 0;
  one.wake('send');
  await eventually(() => expect(heard).toContain(null));
  const later: unknown[] = [];
  other.listen('outbox', (hints) => later.push(hints));
  await eventually(() => {
    one.wake('outbox', ['x']);
    expect(later).not.toEqual([]);
  });
  expect(unwanted).toEqual([]);
  expect(heardByRemote).toEqual([]);
});

it('uses the database while a live process is no peer', async () => {
  const [one, other] = [startPeer(), startPeer()];
  await untilPeers(one);
  await setLive(3);
  await untilNotified(one);
  await untilPeers(one);
  // As many are live, but another one.
  await test.database.pool.query('update processes set pid = 3 where pid = 2');
  await untilNotified(one);
  await untilPeers(one);
  // Its row is still there.
  await other.close();
  await untilNotified(one);
});

it('has sockets that only their owner reaches, and removes those of processes that were killed', async () => {
  startPeer();
  const own = await soleSocket();
  await eventually(async () => expect((await stat(own)).mode & 0o777).toBe(0o600));
  expect((await stat(dirname(own))).mode & 0o777).toBe(0o700);
  const script = `require('net').createServer().listen(process.argv[1], () => console.log('listens'))`;
  const killed = spawn(process.execPath, ['-e', script, join(dirname(own), '1-killed')]);
  await once(killed.stdout, 'data');
  killed.kill('SIGKILL');
  await once(killed, 'exit');
  const left = join(dirname(own), '1-killed');
  // A new one stays, as its process may not listen yet.
  await delay(5 * LOOK_MS);
  expect((await sockets()).toSorted()).toEqual([own, left].toSorted());
  await utimes(left, 0, 0);
  expect(await soleSocket()).toBe(own);
});

it('leaves nothing behind once all of them have stopped', async () => {
  const [one, other] = [startPeer(), startPeer()];
  await untilPeers(one);
  await one.close();
  expect(await readdir(join(home, 'wake'))).toHaveLength(1);
  await other.close();
  expect(await readdir(join(home, 'wake'))).toEqual([]);
});

it('gives up a process that reads nothing', async () => {
  const one = startPeer();
  const hung = createServer((socket) => void socket.write('send\n'));
  const second = createHash('sha256').update('x 2').digest('hex').slice(0, 12);
  hung.listen(join(dirname(await soleSocket()), `${second}-hung`));
  try {
    await untilPeers(one);
    await untilNotified(
      one,
      Array.from({ length: 2_000 }, (_, n) => `email/0/${n}`),
    );
  } finally {
    hung.close();
  }
});
