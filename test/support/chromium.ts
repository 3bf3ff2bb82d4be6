/** Opens a page in a real Chromium whose every request goes to the test. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { until } from './programs.ts';
import { findChromium } from './tools.ts';

/** The host of the page. */
const HOST = 'page.test';
/** Hosts that Chromium itself contacts. */
const OWN_HOSTS = /(?:^|\.)(?:google(?:apis)?|gstatic|gvt1|googleusercontent|chromium)\.(?:com|org)$/;

const FLAGS = [
  '--headless=new',
  // Chromium refuses to run as root otherwise.
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--disable-popup-blocking',
];

export interface ChromiumVisit {
  /** What the page sent to `/done`. */
  result: unknown;
  /** The other requests: method and URL, or `CONNECT` and host. */
  requests: string[];
}

/** Answers for the page; records everything else and answers with a script, so that a loaded one would run. */
function createProxy(html: string) {
  const requests: string[] = [];
  let result: unknown;
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { host, pathname, href } = new URL(request.url ?? '', `http://${HOST}`);
    if (host === HOST && pathname === '/') {
      response.setHeader('Content-Type', 'text/html; charset=utf-8').end(html);
    } else if (host === HOST && pathname === '/done') {
      result = JSON.parse(await text(request));
      response.end();
    } else {
      const isOwn = OWN_HOSTS.test(host) || (host === HOST && pathname === '/favicon.ico');
      if (!isOwn) requests.push(`${request.method} ${href}`);
      response.statusCode = 404;
      response.end();
    }
  }
  const server = createServer((request, response) => void answer(request, response));
  server.on('connect', ({ url = '' }: IncomingMessage, socket) => {
    if (!OWN_HOSTS.test(url.replace(/:\d+$/, ''))) requests.push(`CONNECT ${url}`);
    socket.destroy();
  });
  return { server, requests, result: () => result };
}

/** A running Chromium with a profile of its own. */
export interface ChromiumProcess {
  /** Reads and writes the pipes of `--remote-debugging-pipe`. */
  pipes: { input: Writable; output: Readable };
  close(): Promise<void>;
}

export async function launchChromium(args: readonly string[]): Promise<ChromiumProcess> {
  const program = findChromium();
  if (program === undefined) throw new Error('Chromium is missing');
  const profile = await mkdtemp(join(tmpdir(), 'carillon-chromium-'));
  // The program may be a script; its processes end together, as a group.
  const child = spawn(program, [...FLAGS, `--user-data-dir=${profile}`, ...args], {
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  const [, , , input, output] = child.stdio as unknown as [null, null, null, Writable, Readable];
  // The pipes break when the program is killed.
  input.on('error', () => undefined);
  return {
    pipes: { input, output },
    async close() {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
      await ended;
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/**
 * Opens a page, without any content security policy, until it posts JSON to `/done`.
 * @param html its scripts run, and may call `fetch('/done', …)`
 * @param limitMs how long the page may take
 */
export async function visit(html: string, limitMs = 50_000): Promise<ChromiumVisit> {
  const proxy = createProxy(html);
  await once(proxy.server.listen(0, '127.0.0.1'), 'listening');
  const { port } = proxy.server.address() as AddressInfo;
  try {
    const chromium = await launchChromium([`--proxy-server=http://127.0.0.1:${port}`, `http://${HOST}/`]);
    try {
      await until(
        () => proxy.result() !== undefined,
        () => 'the page has not finished',
        limitMs,
      );
      return { result: proxy.result(), requests: proxy.requests };
    } finally {
      await chromium.close();
    }
  } finally {
    proxy.server.closeAllConnections();
    proxy.server.close();
  }
}
