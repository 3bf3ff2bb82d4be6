import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import pino from 'pino';
import { startMailbox, type Mailbox } from '../../../src/local/mailbox/server.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

export const token = 'a-token-of-the-mailbox-0123456789';

export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Sends a request unchanged. Unlike `fetch`, it allows any Host, Origin and path. */
export function send(
  port: number,
  path: string,
  options: { method?: string; headers?: Record<string, string> } = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, path, agent: false, ...options }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString(),
        }),
      );
    });
    request.on('error', reject);
    request.end();
  });
}

/** Parsed JSON without a type; tests assert its shape. */
type Json = ReturnType<typeof JSON.parse>;

export interface OpenMailbox {
  test: TestDatabase;
  mailbox: Mailbox;
  /** The cookie of a browser that opened the link. */
  cookie: string;
  /** Sends a GET request with the cookie. */
  browse(path: string): Promise<Reply>;
  /** Sends a request with the bearer token, as a script does. */
  ask(path: string, method?: string): Promise<{ status: number; headers: IncomingHttpHeaders; body: Json }>;
  close(): Promise<void>;
}

/** Starts a mailbox on its own database and opens its link. */
export async function openMailbox(): Promise<OpenMailbox> {
  const test = await createTestDatabase();
  const log = pino({ level: 'silent' });
  const mailbox = await startMailbox({ config: { MAILBOX_PORT: 0 }, database: test.database, token, log });
  const opened = await send(mailbox.port, `/?token=${token}`);
  const cookie = (opened.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';
  return {
    test,
    mailbox,
    cookie,
    browse: (path) => send(mailbox.port, path, { headers: { cookie } }),
    async ask(path, method = 'GET') {
      const headers = { authorization: `Bearer ${token}` };
      const reply = await send(mailbox.port, path, { method, headers });
      return { ...reply, body: JSON.parse(reply.body) };
    },
    async close() {
      await mailbox.stop();
      await test.drop();
    },
  };
}
