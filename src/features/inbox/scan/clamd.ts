import { once } from 'node:events';
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { Logger } from 'pino';

/**
 * Why a scanner cannot vouch for a file. `too_large`: it takes no streams of this length. `encrypted`: it cannot read
 * the content. `limit_exceeded`: it did not look at all of it.
 */
export type UnscannedReason = 'too_large' | 'encrypted' | 'limit_exceeded';

/** What a scanner says about a file. `signature` is the name of what it found. */
export type Verdict =
  | { status: 'clean' }
  | { status: 'infected'; signature: string }
  | { status: 'skipped'; reason: UnscannedReason };

/** A virus scanner. */
export interface VirusScanner {
  /**
   * Scans a file while it is read, no faster than the scanner takes it. The stream is always read to its end or
   * destroyed.
   * @param stopping ends the scan, which then throws its reason
   * @throws ScannerError: try again later; the error of the stream
   */
  scan(content: Readable, stopping: AbortSignal): Promise<Verdict>;
  /**
   * @returns the versions of the scanner and of its signatures, such as `ClamAV 1.4.6/27631/Tue May 6 08:35:47 2025`
   * @throws ScannerError
   */
  version(): Promise<string>;
}

/** The scanner is unavailable, or failed. The message names no file and no content. */
export class ScannerError extends Error {}

export interface ClamdLimits {
  connectMs: number;
  /** The longest time without a byte taken, while a file is sent. */
  idleMs: number;
  /** Of one scan. It must be longer than clamd's `MaxScanTime`, two minutes by default. */
  scanMs: number;
}

const DEFAULT_LIMITS: ClamdLimits = { connectMs: 5_000, idleMs: 60_000, scanMs: 300_000 };
const DEFAULT_PORT = 3310;
const MAX_REPLY_BYTES = 8_192;
const MAX_CHUNK_BYTES = 65_536;
const LENGTH_BYTES = 4;
const END_OF_STREAM = Buffer.alloc(LENGTH_BYTES);

/** @param url `tcp://host:3310` or `unix:///path` */
function addressOf(url: string): NetConnectOpts {
  const { protocol, hostname, port, pathname } = new URL(url);
  if (protocol === 'unix:') return { path: decodeURIComponent(pathname) };
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? DEFAULT_PORT : Number(port) };
}

/** A connection on which one command is sent. */
interface Conversation {
  socket: Socket;
  /** Resolves with the reply, which may come before all is sent. */
  reply: Promise<string>;
  /** Whether `reply` is settled. */
  isOver: () => boolean;
}

function asScannerError(error: unknown): Error {
  if (error instanceof ScannerError) return error;
  // The address is the operator's, and says which scanner is meant.
  return new ScannerError(`the virus scanner is unavailable: ${(error as Error).message}`);
}

/** Waits for the socket. @throws ScannerError */
async function whenAvailable<T>(wait: Promise<T>): Promise<T> {
  try {
    return await wait;
  } catch (error) {
    throw asScannerError(error);
  }
}

/** Reads a reply, which ends with a zero byte. */
async function readReply(socket: Socket): Promise<string> {
  let read = Buffer.alloc(0);
  for await (const piece of socket as AsyncIterable<Buffer>) {
    read = Buffer.concat([read, piece]);
    const end = read.indexOf(0);
    if (end >= 0) return read.toString('utf8', 0, end);
    if (read.length > MAX_REPLY_BYTES) throw new ScannerError('the reply of the virus scanner is too long');
  }
  throw new ScannerError('the virus scanner closed the connection without a reply');
}

/** Connects, converses, and closes the connection. */
async function converse<T>(
  { address, limits, stopping }: { address: NetConnectOpts; limits: ClamdLimits; stopping: AbortSignal },
  speak: (conversation: Conversation) => Promise<T>,
): Promise<T> {
  const socket = connect(address);
  const end = (error: Error) => socket.destroy(error);
  const stop = () => end(stopping.reason as Error);
  socket.setTimeout(limits.connectMs);
  // Errors reach the reader; after it has ended, none matters.
  socket.on('error', () => undefined);
  socket.on('timeout', () => end(new ScannerError('the virus scanner does not answer')));
  const late = setTimeout(() => end(new ScannerError('the virus scanner takes too long')), limits.scanMs);
  stopping.addEventListener('abort', stop, { once: true });
  try {
    stopping.throwIfAborted();
    await whenAvailable(once(socket, 'connect'));
    socket.setTimeout(limits.idleMs);
    let over = false;
    const reply = whenAvailable(readReply(socket)).finally(() => (over = true));
    reply.catch(() => undefined);
    return await speak({ socket, reply, isOver: () => over });
  } catch (error) {
    stopping.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(late);
    stopping.removeEventListener('abort', stop);
    socket.destroy();
  }
}

function* chunksOf(piece: Uint8Array): Iterable<Uint8Array> {
  for (let at = 0; at < piece.byteLength; at += MAX_CHUNK_BYTES)
    yield piece.subarray(at, at + MAX_CHUNK_BYTES);
}

/** Sends one chunk, and waits until there is room for the next. */
async function sendChunk({ socket, reply }: Conversation, chunk: Uint8Array): Promise<void> {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(chunk.byteLength);
  socket.cork();
  socket.write(length);
  const hasRoom = socket.write(chunk);
  socket.uncork();
  // A scanner that refuses the rest replies and closes: its reply must be read before the next write fails.
  if (hasRoom) await turn();
  else await Promise.race([whenAvailable(once(socket, 'drain')), reply]);
}

async function sendFile(conversation: Conversation, content: Readable): Promise<string> {
  const { socket, reply, isOver } = conversation;
  socket.write('zINSTREAM\0');
  for await (const piece of content as AsyncIterable<Uint8Array>) {
    for (const chunk of chunksOf(piece)) {
      if (isOver()) return reply;
      await sendChunk(conversation, chunk);
    }
  }
  socket.write(END_OF_STREAM);
  // The scanner is silent while it scans.
  socket.setTimeout(0);
  return reply;
}

/** Reads the reply to INSTREAM (`man clamd`). @throws ScannerError for any other */
function verdictOf(reply: string): Verdict {
  if (reply === 'stream: OK') return { status: 'clean' };
  if (reply.startsWith('INSTREAM size limit exceeded')) return { status: 'skipped', reason: 'too_large' };
  const signature = /^stream: (.+) FOUND$/s.exec(reply)?.[1];
  if (signature === undefined) throw new ScannerError(`the virus scanner failed: ${reply}`);
  if (signature.startsWith('Heuristics.Encrypted')) return { status: 'skipped', reason: 'encrypted' };
  if (signature.startsWith('Heuristics.Limits.Exceeded'))
    return { status: 'skipped', reason: 'limit_exceeded' };
  return { status: 'infected', signature };
}

const never = new AbortController().signal;

/**
 * A client of ClamAV's clamd. Each scan has a connection of its own.
 * @param url `tcp://host:3310` or `unix:///path`
 */
export function createClamdScanner(url: string, limits: ClamdLimits = DEFAULT_LIMITS): VirusScanner {
  const address = addressOf(url);
  return {
    async scan(content, stopping) {
      try {
        const reply = await converse({ address, limits, stopping }, (conversation) =>
          sendFile(conversation, content),
        );
        return verdictOf(reply);
      } finally {
        content.destroy();
      }
    },
    version: () =>
      converse({ address, limits, stopping: never }, ({ socket, reply }) => {
        socket.write('zVERSION\0');
        return reply;
      }),
  };
}

/** Logs the version of the scanner, or that it is unavailable. Mail is scanned once it is available. */
export async function announceScanner(url: string, log: Logger): Promise<void> {
  try {
    log.info({ version: await createClamdScanner(url).version() }, 'virus scanner found');
  } catch (err) {
    log.warn({ err }, 'virus scanner unavailable: mail waits for it');
  }
}
