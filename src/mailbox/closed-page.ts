import { page, type Answer } from './answer.ts';
import { layout } from './layout.ts';
import { markup } from './markup.ts';

/** For who has no token. */
export function closedPage(nonce: string): Answer {
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

/** For a path where nothing is, or a message that was cleared. */
export function missingPage(nonce: string): Answer {
  const content = markup`<div class="empty">
    <h2>There is nothing here</h2>
    <p>The message may have been cleared.</p>
    <a href="/">All messages</a>
  </div>`;
  return page(404, layout({ title: 'Not found · Carillon mailbox', nonce, bar: true, content }), nonce);
}
