import type { Logger } from 'pino';
import { mailboxUrl, type Config } from '../../config.ts';
import type { AppError } from '../../errors.ts';
import type { Database } from '../../platform/db/database.ts';
import { createBareApp } from '../../platform/http/app.ts';
import type { HttpApp, HttpContext } from '../../platform/http/context.ts';
import { listen, type Listening } from '../../platform/http/listen.ts';
import { errors } from '../../platform/http/middlewares/errors.ts';
import { headers } from '../../platform/http/middlewares/headers.ts';
import { requestId } from '../../platform/http/middlewares/request-id.ts';
import { unmatched } from '../../platform/http/middlewares/unmatched.ts';
import { unreadBody } from '../../platform/http/middlewares/unread-body.ts';
import { reply, replyError } from '../../platform/http/reply.ts';
import { requireLocalHost, requireToken } from './admission.ts';
import { createGate } from './gate.ts';
import { closedPage, missingPage } from './layout.ts';
import { MAILBOX_HEADERS, plainText } from './responses.ts';
import { createMailboxRoutes, createNonce } from './routes.ts';

export interface MailboxDeps {
  config: Pick<Config, 'MAILBOX_PORT'>;
  database: Database;
  /** Opens the mailbox; at least 16 characters. */
  token: string;
  log: Logger;
}

export interface Mailbox {
  port: number;
  /** Contains the token. Opening it once in a browser sets the cookie. */
  url: string;
  stop(): Promise<void>;
}

const HOST = '127.0.0.1';

/** Shows errors of the mailbox API as JSON, and errors of pages as pages or text. */
function showError(ctx: HttpContext, error: AppError): void {
  if (ctx.path.startsWith('/api/')) replyError(ctx, error);
  else if (error.code === 'unauthorized') reply(ctx, closedPage(createNonce()));
  else if (error.code === 'not_found') reply(ctx, missingPage(createNonce()));
  else reply(ctx, plainText(error.status, error.message, error.headers));
}

function createMailboxApp({ database, token, log }: MailboxDeps): HttpApp {
  const gate = createGate(token);
  const app = createBareApp(log);
  app.use(requestId());
  app.use(headers(MAILBOX_HEADERS));
  app.use(unreadBody());
  app.use(errors(log, showError));
  app.use(requireLocalHost(gate));
  app.use(createMailboxRoutes(database.pool, gate));
  // Unknown paths need the token, too: without it, nothing shows which paths exist.
  app.use(requireToken(gate));
  app.use(unmatched());
  return app;
}

async function listenLocally(app: HttpApp, port: number): Promise<Listening> {
  const answer = app.callback();
  try {
    return await listen((request, response) => void answer(request, response), HOST, port);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    const message = `port ${port} is taken by another program: stop that program, or set MAILBOX_PORT to another port`;
    throw new Error(message, { cause: error });
  }
}

/**
 * Serves what the `capture` providers keep, to this machine only and only to clients that know the token. For
 * development: it shows the mail of every account.
 * @throws Error if the port is taken or the token is too short
 */
export async function startMailbox(deps: MailboxDeps): Promise<Mailbox> {
  const { port, stop } = await listenLocally(createMailboxApp(deps), deps.config.MAILBOX_PORT);
  return { port, url: mailboxUrl(port, deps.token), stop: () => stop(0) };
}
