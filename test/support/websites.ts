import { readFile } from 'node:fs/promises';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { extname } from 'node:path';

const folder = new URL('../features/brands/sites/', import.meta.url);

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain',
};

export type SiteHandler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** Serves the websites of `test/features/brands/sites` by host name, and others with handlers. */
export interface Websites {
  /** Every request so far, such as `GET inline.test/logo.png`. */
  requests: string[];
  /** By host name. Takes precedence over files. */
  handlers: Record<string, SiteHandler>;
  /** Overrides the Content-Type of a page, by host name. */
  contentTypes: Record<string, string | null>;
  url(host: string, path?: string): string;
  close(): Promise<void>;
}

async function fileOf(host: string, path: string): Promise<Buffer | null> {
  const name = path === '/' ? '/index.html' : path;
  try {
    return await readFile(new URL(`${host}${name}`, folder));
  } catch {
    return null;
  }
}

/** Sends a file. URLs in files have no port, so it is added. */
async function serve(sites: Websites, port: number, request: IncomingMessage, response: ServerResponse) {
  const host = (request.headers.host ?? '').split(':')[0] ?? '';
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  sites.requests.push(`${request.method} ${host}${path}`);
  const handler = sites.handlers[host];
  if (handler) return handler(request, response);
  const file = await fileOf(host, path);
  if (!file) return void response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not here</h1>');
  const known = types[extname(path === '/' ? '.html' : path)] ?? types[path === '/' ? '.html' : ''] ?? '';
  const type = path === '/' && host in sites.contentTypes ? sites.contentTypes[host] : known;
  if (type) response.setHeader('content-type', type);
  const text = file.toString('latin1').replaceAll(/(http:\/\/[\w.-]+\.test)(?=[/"')])/g, `$1:${port}`);
  response.end(Buffer.from(text, 'latin1'));
}

/** Listens on a free port of loopback. @param address 127.0.0.1 by default */
export async function startWebsites(address = '127.0.0.1'): Promise<Websites> {
  const sockets = new Set<Socket>();
  const server = http.createServer((request, response) => void serve(sites, port, request, response));
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const { port } = server.address() as AddressInfo;
  const sites: Websites = {
    requests: [],
    handlers: {},
    contentTypes: {},
    url: (host, path = '/') => `http://${host}:${port}${path}`,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return sites;
}
