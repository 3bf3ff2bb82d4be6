import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { directUrlOf } from '../db/database.ts';
import type { Queryable } from '../db/queryable.ts';
import type { OpenWakeRoute, WakeChannel, WakeRoute } from '../db/wake.ts';
import { SEEN_SQL } from './fleet.ts';

/** How often a process looks for others, on its machine and in the database. */
const LOOK_MS = 3_000;
/** The connection to a process that leaves more than this unread is closed. */
const MAX_UNREAD_BYTES = 64 * 1024;
const STALE_MS = 60_000;
const KEY_LENGTH = 12;

interface PeerOptions {
  config: Pick<Config, 'CARILLON_HOME' | 'DATABASE_URL' | 'DATABASE_DIRECT_URL'>;
  db: Queryable;
  log: Logger;
  /** This process, as in its row of `processes`. Tests have several in one. */
  self?: ProcessName;
  /** Default: {@link LOOK_MS}. */
  lookMs?: number;
}

interface ProcessName {
  host: string;
  pid: number;
}

/** Another process of this machine. */
interface Peer {
  socket: Socket;
  key: string;
  /** Those that it listens to; null until it has sent them. */
  channels: ReadonlySet<string> | null;
}

function readLines(socket: Socket, onLine: (line: string) => void): void {
  let rest = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
}

const shortHash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, KEY_LENGTH);

/** The beginning of the name of a process's socket. It is a hash, because the path of a socket must be short. */
const keyOf = ({ host, pid }: ProcessName) => shortHash(`${host} ${pid}`);

/** What containers on one kernel have in common. */
function machineId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return hostname();
  }
}

/** Removes the socket of a process that has ended without doing so. One that has just been made may not listen yet. */
async function removeSocket(path: string): Promise<void> {
  const made = await stat(path).catch(() => null);
  if (made && made.mtimeMs < Date.now() - STALE_MS) await rm(path, { force: true });
}

/**
 * The processes of one machine wake each other through sockets in CARILLON_HOME, unless there are processes on other
 * machines. That costs a tenth of a NOTIFY, which also wakes the connections of all processes that listen to other
 * channels. Each process has a socket. It sends each client a line with the channels that it listens to, and another
 * one when it listens to more. What it reads are wake-ups: lines with the channel and the hints.
 */
class WakePeers implements WakeRoute {
  readonly #options: PeerOptions;
  readonly #folder: string;
  readonly #self: string;
  readonly #name: string;
  readonly #server: Server;
  readonly #readers = new Set<Socket>();
  readonly #peers = new Map<string, Peer>();
  readonly #channels = new Set<string>();
  readonly #timer: NodeJS.Timeout;
  readonly #opened: Promise<void>;
  #isClosed = false;
  /** The keys of the other live processes of the installation; null if unknown. */
  #others: readonly string[] | null = null;

  constructor(options: PeerOptions, onWake: Parameters<OpenWakeRoute>[0]) {
    this.#options = options;
    this.#self = keyOf(options.self ?? { host: hostname(), pid: process.pid });
    this.#name = `${this.#self}-${randomBytes(4).toString('hex')}`;
    const { CARILLON_HOME, DATABASE_URL, DATABASE_DIRECT_URL } = options.config;
    // The folder may be shared with other machines, and by processes with another database.
    const url = directUrlOf({ url: DATABASE_URL ?? '', directUrl: DATABASE_DIRECT_URL });
    this.#folder = join(CARILLON_HOME, 'wake', shortHash(`${machineId()} ${url}`));
    this.#server = createServer((socket) => {
      this.#readers.add(socket);
      socket.on('error', () => undefined).on('close', () => this.#readers.delete(socket));
      readLines(socket, (line) => {
        const [channel = '', ...hints] = line.split(' ');
        onWake(channel, hints.length > 0 ? hints : null);
      });
      socket.write(this.#greeting());
    });
    this.#opened = this.#open();
    void this.#opened.then(() => this.#look());
    this.#timer = setInterval(() => void this.#look(), options.lookMs ?? LOOK_MS).unref();
  }

  wake(channel: WakeChannel, hints: readonly string[] | null): boolean {
    const peers = [...this.#peers.values()];
    const greeted = new Set(peers.flatMap(({ key, channels }) => (channels ? [key] : [])));
    if (!this.#others?.every((key) => greeted.has(key))) return false;
    const line = `${[channel, ...(hints ?? [])].join(' ')}\n`;
    for (const { socket, channels } of peers) {
      if (!channels?.has(channel)) continue;
      if (socket.writableLength > MAX_UNREAD_BYTES) socket.destroy();
      else socket.write(line);
    }
    return true;
  }

  listen(channel: WakeChannel): void {
    this.#channels.add(channel);
    for (const socket of this.#readers) socket.write(this.#greeting());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#opened;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#readers) socket.destroy();
    for (const { socket } of this.#peers.values()) socket.destroy();
    await closed;
    // The last process removes the folder.
    await rmdir(this.#folder).catch(() => undefined);
  }

  #greeting(): string {
    return `${[...this.#channels].join(' ')}\n`;
  }

  /** Begins to listen. If that is not possible, other processes use NOTIFY. */
  async #open(): Promise<void> {
    const path = join(this.#folder, this.#name);
    try {
      await this.#listen(path).catch(() => this.#listen(path));
      this.#server.unref();
      await chmod(path, 0o600);
    } catch (error) {
      this.#options.log.debug({ err: error, path }, 'processes of this machine are woken by NOTIFY only');
    }
  }

  /** Fails if another process removes the folder meanwhile. */
  async #listen(path: string): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject).listen(path, resolve);
    });
  }

  /** Reads which processes are live, and connects to new ones of this machine. */
  async #look(): Promise<void> {
    if (this.#isClosed) return;
    const names = await readdir(this.#folder).catch(() => []);
    for (const name of names) if (name !== this.#name && !this.#peers.has(name)) this.#connect(name);
    try {
      const { rows } = await this.#options.db.query<ProcessName>({
        name: 'list_live_processes',
        text: `select host, pid from processes where ${SEEN_SQL}`,
      });
      this.#others = rows.map(keyOf).filter((key) => key !== this.#self);
    } catch {
      this.#others = null;
    }
  }

  #connect(name: string): void {
    const path = join(this.#folder, name);
    const socket = connect(path).unref();
    const peer: Peer = { socket, key: name.slice(0, KEY_LENGTH), channels: null };
    this.#peers.set(name, peer);
    readLines(socket, (line) => (peer.channels = new Set(line.split(' '))));
    socket
      .on('error', ({ code }: NodeJS.ErrnoException) => {
        if (code === 'ECONNREFUSED') void removeSocket(path);
      })
      .on('close', () => this.#peers.delete(name));
  }
}

/** For `createWaker`: wakes the processes of this machine without the database, while there are no others. */
export const peersOf =
  (options: PeerOptions): OpenWakeRoute =>
  (onWake) =>
    new WakePeers(options, onWake);
