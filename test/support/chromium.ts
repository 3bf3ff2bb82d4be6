/** A real Chromium, for tests. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type Browser, chromium, type LaunchOptions } from 'playwright-core';
import { until } from './programs.ts';
import { findChromium } from './tools.ts';

/** The host of the page that {@link visit} opens. */
const HOST = 'page.test';
/** Hosts that Chromium itself contacts. */
const OWN_HOSTS = /(?:^|\.)(?:google(?:apis)?|gstatic|gvt1|googleusercontent|chromium)\.(?:com|org)$/;

/** Starts Chromium. Each context of it is a profile of its own. */
export async function launchChromium({ args = [], ...options }: LaunchOptions = {}): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) {
    throw new Error('no Chromium: install it (Debian: apt-get install chromium), or set CHROMIUM_PATH');
  }
  // Chromium refuses to run as root otherwise.
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({
    ...options,
    executablePath,
    args: [...sandbox, '--disable-dev-shm-usage', ...args],
  });
}

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

/**
 * Opens a page, without any content security policy, until it posts JSON to `/done`.
 * @param html its scripts run, and may call `fetch('/done', …)`
 * @param limitMs how long the page may take
 */
export async function visit(html: string, limitMs = 50_000): Promise<ChromiumVisit> {
  const proxy = createProxy(html);
  await once(proxy.server.listen(0, '127.0.0.1'), 'listening');
  const { port } = proxy.server.address() as AddressInfo;
  const browser = await launchChromium({ proxy: { server: `http://127.0.0.1:${port}` } });
  try {
    const page = await browser.newPage();
    await page.goto(`http://${HOST}/`);
    await until(
      () => proxy.result() !== undefined,
      () => 'the page has not finished',
      limitMs,
    );
    return { result: proxy.result(), requests: proxy.requests };
  } finally {
    await browser.close();
    proxy.server.closeAllConnections();
    proxy.server.close();
  }
}
