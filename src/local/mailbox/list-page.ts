import type pg from 'pg';
import { z } from 'zod';
import type { RawResult } from '../../platform/http/reply.ts';
import { listCaptured, type CapturedPage, type CapturedSummary } from './captured.ts';
import { layout } from './layout.ts';
import { markup, type Markup } from './markup.ts';
import { page } from './responses.ts';
import { counted, moment, shortMoment, size } from './wording.ts';

const PAGE_SIZE = 50;

/** Values that a person typed: invalid ones are ignored instead of refused. */
const view = z.object({
  q: z.string().trim().max(500).catch(''),
  channel: z.enum(['email', 'sms']).optional().catch(undefined),
  page: z.coerce.number().int().min(1).max(1_000_000).catch(1),
});
type View = z.infer<typeof view>;

function row(message: CapturedSummary): Markup {
  const { id, channel, to, subject, body, capturedAt, sizeBytes } = message;
  const what =
    channel === 'email'
      ? markup`<span class="what">${subject || '(no subject)'}</span>`
      : markup`<span class="what body">${body ?? ''}</span>`;
  return markup`<li>
    <a href="/messages/${id}">
      <span class="kind ${channel}">${channel === 'email' ? 'Email' : 'SMS'}</span>
      <span>${to}</span>${what}
      <span class="size">${size(sizeBytes)}</span>
      <time datetime="${capturedAt.toISOString()}" title="${moment(capturedAt)}">${shortMoment(capturedAt)}</time>
    </a>
  </li>`;
}

function empty({ q, channel }: View): Markup {
  if (q || channel)
    return markup`<div class="empty">
      <h2>Nothing matches</h2>
      <a href="/">Show all messages</a>
    </div>`;
  return markup`<div class="empty">
    <h2>No messages yet</h2>
    Everything this Carillon sends is captured here and never leaves. The page refreshes by itself.
  </div>`;
}

function pageLink(current: View, number: number, label: string): Markup {
  const query = new URLSearchParams({ q: current.q, channel: current.channel ?? '', page: String(number) });
  return markup`<a class="button" href="/?${query.toString()}">${label}</a>`;
}

function pages(current: View, total: number): Markup | null {
  const last = Math.max(1, Math.ceil(total / PAGE_SIZE));
  if (last === 1 && current.page === 1) return null;
  return markup`<nav class="pages" aria-label="Pages">
    ${current.page > 1 && pageLink(current, Math.min(current.page - 1, last), 'Newer')}
    <span>Page ${current.page} of ${last}</span>
    ${current.page < last && pageLink(current, current.page + 1, 'Older')}
  </nav>`;
}

function content(current: View, { messages, total }: CapturedPage): Markup {
  return markup`<h1 class="hidden">Messages</h1>
    <p class="count" id="count" role="status">${counted(total)}${total > 1 && ', newest first'}</p>
    <div id="list">
      ${
        messages.length > 0
          ? markup`<ol class="list">
              ${messages.map(row)}
            </ol>`
          : empty(current)
      }
      ${pages(current, total)}
    </div>`;
}

/** `GET /`: the search results, newest first, in pages. */
export async function listPage(pool: pg.Pool, query: URLSearchParams, nonce: string): Promise<RawResult> {
  const current = view.parse(Object.fromEntries(query));
  const { q, channel } = current;
  const found = await listCaptured(
    pool,
    { search: q, channel },
    { limit: PAGE_SIZE, offset: (current.page - 1) * PAGE_SIZE },
  );
  const text = layout({
    title: `${counted(found.total)} · Carillon mailbox`,
    nonce,
    search: q,
    ...(channel ? { channel } : {}),
    bar: true,
    content: content(current, found),
    live: true,
  });
  return page(200, text, nonce);
}
