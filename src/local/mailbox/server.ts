import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { Database } from '../../platform/db/database.ts';
import { isConnectionError } from '../../platform/db/queryable.ts';
import { apiError } from './api.ts';
import { createGate, type Gate } from './gate.ts';
import { closedPage, missingPage } from './layout.ts';
import { plainText, seeOther, type Answer } from './responses.ts';
import { matchRoute, type Route } from './routes.ts';

export interface MailboxDeps {
  config: Pick<Config, 'MAILBOX_PORT'>;
  database: Database;
  /** Opens the mailbox; at least 16 characters. */
  token: string;
  log: Logger;
}

export interface Mailbox {
  port: number;
  /** With the token; opening it once sets the cookie. */
  url: string;
  stop(): Promise<void>;
}

const HOST = '127.0.0.1';

/** The address that opens the mailbox in a browser. */
export function mailboxUrl(port: number, token: string): string {
  return `http://${HOST}:${port}/?${new URLSearchParams({ token }).toString()}`;
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = `port ${port} is taken by another program: stop that program, or set MAILBOX_PORT to another port`;
      reject(error.code === 'EADDRINUSE' ? new Error(taken, { cause: error }) : error);
    });
    server.listen({ port, host: HOST, exclusive: true }, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

function parseTarget(target: string | undefined): URL | null {
  const text = target ?? '/';
  return text.startsWith('/') && URL.canParse(`http://mailbox${text}`)
    ? new URL(`http://mailbox${text}`)
    : null;
}

/** The token in the address of a page becomes a cookie, and leaves the address bar. */
function admit(gate: Gate, url: URL): Answer {
  const rest = new URLSearchParams(url.searchParams);
  rest.delete('token');
  const query = rest.size > 0 ? `?${rest.toString()}` : '';
  return seeOther(`${url.pathname}${query}`, { 'Set-Cookie': gate.cookie() });
}

function refuse(route: Route, nonce: string): Answer {
  return route.api
    ? apiError(401, 'unauthorized', 'the mailbox token is missing or wrong')
    : closedPage(nonce);
}

async function answerRequest(gate: Gate, database: Database, request: IncomingMessage): Promise<Answer> {
  const { headers, method = 'GET' } = request;
  if (!gate.hostAllowed(headers)) return plainText(421, 'this mailbox is for this machine only');
  const url = parseTarget(request.url);
  if (!url) return plainText(400, 'not a path');
  const nonce = randomBytes(16).toString('base64url');
  const match = matchRoute(url.pathname, method === 'HEAD' ? 'GET' : method);
  if ('allow' in match) return plainText(405, `${method} is not possible here`, { Allow: match.allow });
  const { route, params } = match;
  const token = url.searchParams.get('token');
  if (token !== null && route.opensByToken && gate.tokenMatches(token)) return admit(gate, url);
  const admission = gate.admitted(headers);
  if (admission === null) return refuse(route, nonce);
  if (route.changes && admission === 'cookie' && !gate.fromOwnPage(headers)) {
    return plainText(403, 'only a page of the mailbox itself may do this');
  }
  const answer = await route.handle({ pool: database.pool, params, query: url.searchParams, nonce });
  return answer ?? (route.api ? apiError(404, 'not_found', 'message not found') : missingPage(nonce));
}

function failure(error: unknown, log: Logger): Answer {
  log.error({ err: error }, 'mailbox request failed');
  return isConnectionError(error)
    ? plainText(503, 'the database is away; try again', { 'Retry-After': '2' })
    : plainText(500, 'the mailbox failed; its log says why');
}

function send(response: ServerResponse, answer: Answer): void {
  const body = Buffer.from(answer.body);
  response.writeHead(answer.status, { ...answer.headers, 'Content-Length': body.length });
  response.end(body);
}

/**
 * Serve what the `capture` providers keep, to this machine only and to who has the token only.
 * For development: it shows every account's mail.
 * @throws Error where the port is taken or the token too short
 */
export async function startMailbox({ config, database, token, log }: MailboxDeps): Promise<Mailbox> {
  const gate = createGate(token);
  const server = createServer();
  const port = await listen(server, config.MAILBOX_PORT);
  server.on('request', (request, response) => {
    request.resume();
    void answerRequest(gate, database, request)
      .catch((error: unknown) => failure(error, log))
      .then((answer) => send(response, answer))
      .catch(() => response.destroy());
  });
  return {
    port,
    url: mailboxUrl(port, token),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
