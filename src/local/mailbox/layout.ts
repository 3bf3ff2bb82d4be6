import type { RawResult } from '../../platform/http/reply.ts';
import { Markup, markup } from './markup.ts';
import { page } from './responses.ts';
import { style } from './style.ts';

export interface PageFrame {
  title: string;
  nonce: string;
  /** Text in the search field. */
  search?: string;
  channel?: string;
  /** Whether the page has the search field and "Clear all". */
  bar: boolean;
  content: Markup;
  /** Whether the page refreshes itself every few seconds. */
  live?: boolean;
}

const bell = markup`<svg
  viewBox="0 0 24 24"
  fill="none"
  stroke="currentColor"
  stroke-width="1.8"
  aria-hidden="true"
>
  <path
    d="M12 3v2M6 17c1.2-1.6 1.5-3 1.5-6.2a4.5 4.5 0 0 1 9 0c0 3.2.3 4.6 1.5 6.2zM10 20a2.2 2.2 0 0 0 4 0"
  />
</svg>`;

/**
 * Replaces the list by the newest one while the page is visible; without scripts the page reloads itself. The style of
 * the fetched page is removed first: its nonce differs, and browsers report a violation even if nothing is shown.
 */
const refresh = `
const refresh = async () => {
  if (document.hidden || document.querySelector('details[open]')) return;
  const answer = await fetch(location.href, { headers: { Accept: 'text/html' } });
  if (!answer.ok) return;
  const text = (await answer.text()).replace(/<style[^]*?<\\/style>/, '');
  const fresh = new DOMParser().parseFromString(text, 'text/html');
  for (const id of ['count', 'list']) {
    const [now, next] = [document.getElementById(id), fresh.getElementById(id)];
    if (!now || !next || now.innerHTML === next.innerHTML) continue;
    const focused = now.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
    now.replaceChildren(...next.childNodes);
    if (focused) [...now.querySelectorAll('a')].find((link) => link.getAttribute('href') === focused)?.focus();
  }
};
setInterval(() => refresh().catch(() => undefined), 2000);
`;

function channelChoice(value: string, label: string, chosen: string | undefined): Markup {
  return markup`<option value="${value}" ${value === (chosen ?? '') ? new Markup('selected') : ''}>
    ${label}
  </option>`;
}

function topBar({ search, channel }: PageFrame): Markup {
  return markup`<header class="bar">
    <div>
      <a class="brand" href="/">${bell} Carillon mailbox</a>
      <form class="search" role="search" action="/" method="get">
        <label class="hidden" for="q">Search recipients and subjects</label>
        <input id="q" name="q" type="search" placeholder="Recipient or subject" value="${search ?? ''}" />
        <label class="hidden" for="channel">Kind of message</label>
        <select id="channel" name="channel">
          ${channelChoice('', 'All', channel)}${channelChoice('email', 'Email', channel)}${channelChoice('sms', 'SMS', channel)}
        </select>
        <button>Search</button>
      </form>
      <details class="clear">
        <summary>Clear all</summary>
        <form method="post" action="/clear">
          <p>Remove all messages?</p>
          <button class="danger">Remove all</button>
        </form>
      </details>
    </div>
  </header>`;
}

/** A whole page. It loads nothing, and has one style and at most one script, both allowed by the nonce. */
export function layout(frame: PageFrame): string {
  const { title, nonce, content, live = false, bar } = frame;
  const page = markup`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <style nonce="${nonce}">
          ${new Markup(style)}
        </style>
        ${live && markup`<noscript><meta http-equiv="refresh" content="5" /></noscript>`}
      </head>
      <body>
        <a class="skip" href="#main">Skip to content</a>
        ${bar && topBar(frame)}
        <main id="main">${content}</main>
        ${
          live &&
          markup`<script nonce="${nonce}">
            ${new Markup(refresh)};
          </script>`
        }
      </body>
    </html> `;
  return page.text;
}

/** Shown without a valid token. */
export function closedPage(nonce: string): RawResult {
  const content = markup`<div class="panel alone">
    <h1>This mailbox needs its token</h1>
    <p>Open the link that <code>npm start</code> printed, or paste the token from it.</p>
    <form method="get" action="/">
      <label class="hidden" for="token">Token</label>
      <input id="token" name="token" type="password" autocomplete="off" required placeholder="Token" />
      <button>Open</button>
    </form>
  </div>`;
  return page(401, layout({ title: 'Carillon mailbox', nonce, bar: false, content }), nonce);
}

/** Shown for an unknown path, or for a message that was cleared. */
export function missingPage(nonce: string): RawResult {
  const content = markup`<div class="empty">
    <h2>There is nothing here</h2>
    <p>The message may have been cleared.</p>
    <a href="/">All messages</a>
  </div>`;
  return page(404, layout({ title: 'Not found · Carillon mailbox', nonce, bar: true, content }), nonce);
}
