import type pg from 'pg';
import { apiClear, apiList, apiOne } from './api.ts';
import { clearCaptured, findCaptured } from './captured.ts';
import { listPage } from './list-page.ts';
import { previewHtml, readMail } from './mail-content.ts';
import { messagePage } from './message-page.ts';
import { download, preview, seeOther, type Answer } from './responses.ts';

interface Request {
  pool: pg.Pool;
  /** The numbers of the path. */
  params: number[];
  query: URLSearchParams;
  nonce: string;
}

export interface Route {
  method: 'GET' | 'POST' | 'DELETE';
  path: RegExp;
  /** Answers in JSON, errors too. */
  api: boolean;
  /** A page that the token in its address opens. */
  opensByToken: boolean;
  changes: boolean;
  /** @returns null where there is no such thing */
  handle(request: Request): Promise<Answer | null>;
}

type Handler = Route['handle'];

const plainPage = { api: false, opensByToken: true, changes: false };
const part = { api: false, opensByToken: false, changes: false };
const api = { api: true, opensByToken: false, changes: false };

const showMessage: Handler = async ({ pool, params: [id = 0], query, nonce }) => {
  const captured = await findCaptured(pool, id);
  return captured && messagePage(captured, query, nonce);
};

const showPreview: Handler = async ({ pool, params: [id = 0] }) => {
  const captured = await findCaptured(pool, id);
  return captured?.raw ? preview(previewHtml(await readMail(captured.raw))) : null;
};

const downloadSource: Handler = async ({ pool, params: [id = 0] }) => {
  const captured = await findCaptured(pool, id);
  return captured?.raw ? download(`message-${captured.messageId}.eml`, captured.raw) : null;
};

const downloadAttachment: Handler = async ({ pool, params: [id = 0, number = 0] }) => {
  const captured = await findCaptured(pool, id);
  if (!captured?.raw) return null;
  const attachment = (await readMail(captured.raw)).attachments[number - 1];
  return attachment ? download(attachment.filename, attachment.content) : null;
};

const clear: Handler = async ({ pool }) => {
  await clearCaptured(pool);
  return seeOther('/');
};

const routes: Route[] = [
  {
    ...plainPage,
    method: 'GET',
    path: /^\/$/,
    handle: ({ pool, query, nonce }) => listPage(pool, query, nonce),
  },
  { ...plainPage, method: 'GET', path: /^\/messages\/(\d{1,15})$/, handle: showMessage },
  { ...part, method: 'GET', path: /^\/messages\/(\d{1,15})\/preview$/, handle: showPreview },
  { ...part, method: 'GET', path: /^\/messages\/(\d{1,15})\/raw$/, handle: downloadSource },
  {
    ...part,
    method: 'GET',
    path: /^\/messages\/(\d{1,15})\/attachments\/(\d{1,6})$/,
    handle: downloadAttachment,
  },
  { ...part, changes: true, method: 'POST', path: /^\/clear$/, handle: clear },
  { ...api, method: 'GET', path: /^\/api\/messages$/, handle: ({ pool, query }) => apiList(pool, query) },
  {
    ...api,
    method: 'GET',
    path: /^\/api\/messages\/(\d{1,15})$/,
    handle: ({ pool, params: [id = 0] }) => apiOne(pool, id),
  },
  {
    ...api,
    changes: true,
    method: 'DELETE',
    path: /^\/api\/messages$/,
    handle: ({ pool }) => apiClear(pool),
  },
];

/** What answers where nothing is: it needs the token, too, so that nobody else learns which paths exist. */
const nowhere: Route = { ...part, method: 'GET', path: /./, handle: () => Promise.resolve(null) };

export type RouteMatch = { route: Route; params: number[] } | { allow: string };

/** Find what answers a path. `allow` lists the methods of a path that has others. */
export function matchRoute(pathname: string, method: string): RouteMatch {
  const there = routes.filter((route) => route.path.test(pathname));
  const route = there.find((candidate) => candidate.method === method);
  if (route) return { route, params: (route.path.exec(pathname) ?? []).slice(1).map(Number) };
  if (there.length > 0) return { allow: there.map((candidate) => candidate.method).join(', ') };
  return { route: { ...nowhere, api: pathname.startsWith('/api/') }, params: [] };
}
