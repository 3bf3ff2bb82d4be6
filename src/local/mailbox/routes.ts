import { randomBytes } from 'node:crypto';
import Router from '@koa/router';
import type pg from 'pg';
import { notFound } from '../../errors.ts';
import type { Middleware } from '../../platform/http/context.ts';
import { reply, type RouteResult } from '../../platform/http/reply.ts';
import { admitByToken, requireOwnPage, requireToken } from './admission.ts';
import { apiClear, apiList, apiOne } from './api.ts';
import { clearCaptured, findCaptured } from './captured.ts';
import type { Gate } from './gate.ts';
import { listPage } from './list-page.ts';
import { previewHtml, readMail } from './mail-content.ts';
import { messagePage } from './message-page.ts';
import { download, preview, seeOther } from './responses.ts';

interface MailboxRequest {
  pool: pg.Pool;
  /** The id of a captured message in the path; 0, which no message has, if there is none. */
  id: number;
  /** The number of an attachment in the path, starting at 1. */
  attachment: number;
  query: URLSearchParams;
}

/** @returns null if the message or attachment does not exist */
type Handler = (request: MailboxRequest) => Promise<RouteResult | null>;

const DIGITS = /^\d{1,15}$/;

/** A fresh value that allows the style and script of one page. */
export function createNonce(): string {
  return randomBytes(16).toString('base64url');
}

const showMessage: Handler = async ({ pool, id, query }) => {
  const captured = await findCaptured(pool, id);
  return captured && messagePage(captured, query, createNonce());
};

const showPreview: Handler = async ({ pool, id }) => {
  const captured = await findCaptured(pool, id);
  return captured?.raw ? preview(previewHtml(await readMail(captured.raw))) : null;
};

const downloadSource: Handler = async ({ pool, id }) => {
  const captured = await findCaptured(pool, id);
  return captured?.raw ? download(`message-${captured.messageId}.eml`, captured.raw) : null;
};

const downloadAttachment: Handler = async ({ pool, id, attachment }) => {
  const captured = await findCaptured(pool, id);
  if (!captured?.raw) return null;
  const part = (await readMail(captured.raw)).attachments[attachment - 1];
  return part ? download(part.filename, part.content) : null;
};

const clear: Handler = async ({ pool }) => {
  await clearCaptured(pool);
  return seeOther('/');
};

/** The routes of the mailbox, as a Koa middleware. */
export function createMailboxRoutes(pool: pg.Pool, gate: Gate): Middleware {
  const router = new Router({ sensitive: true, strict: true });
  const known = requireToken(gate);
  const byToken = admitByToken(gate);
  const ownPage = requireOwnPage(gate);

  function route(method: string, path: string, guards: Middleware[], handler: Handler): void {
    const handle: Middleware = async (ctx) => {
      const { id = '0', number = '0' } = ctx.params ?? {};
      if (!DIGITS.test(id) || !DIGITS.test(number)) throw notFound('message');
      const query = new URLSearchParams(ctx.querystring);
      const result = await handler({ pool, id: Number(id), attachment: Number(number), query });
      if (!result) throw notFound('message');
      reply(ctx, result);
    };
    router.register(path, [method], [...guards, handle] as Parameters<typeof router.register>[2]);
  }

  route('GET', '/', [byToken, known], ({ query }) => listPage(pool, query, createNonce()));
  route('GET', '/messages/:id', [byToken, known], showMessage);
  route('GET', '/messages/:id/preview', [known], showPreview);
  route('GET', '/messages/:id/raw', [known], downloadSource);
  route('GET', '/messages/:id/attachments/:number', [known], downloadAttachment);
  route('POST', '/clear', [known, ownPage], clear);
  route('GET', '/api/messages', [known], ({ query }) => apiList(pool, query));
  route('GET', '/api/messages/:id', [known], ({ id }) => apiOne(pool, id));
  route('DELETE', '/api/messages', [known, ownPage], () => apiClear(pool));
  return router.routes() as unknown as Middleware;
}
