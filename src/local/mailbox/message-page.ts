import type { RawResult } from '../../platform/http/reply.ts';
import type { Captured } from './captured.ts';
import { layout } from './layout.ts';
import { readMail, type MailContent } from './mail-content.ts';
import { markup, type Markup } from './markup.ts';
import { page } from './responses.ts';
import { moment, size } from './wording.ts';

const views = { html: 'HTML', text: 'Text', source: 'Source', headers: 'Headers' } as const;
type ViewName = keyof typeof views;

const MAX_SOURCE_SHOWN = 200_000;

function isView(name: string | null): name is ViewName {
  return name !== null && Object.hasOwn(views, name);
}

function facts(captured: Captured): Markup {
  const { from, to, returnPath, capturedAt, messageId, attempt, sizeBytes, channel } = captured;
  const line = (name: string, value: string | null) =>
    value !== null &&
    markup`<dt>${name}</dt>
      <dd>${value}</dd>`;
  return markup`<dl class="facts">
    ${line('From', from)}${line('To', to)}${line('Return path', returnPath)}
    ${line('Handed over', moment(capturedAt))}
    ${line('Message', `${messageId}, attempt ${attempt}, ${channel === 'email' ? 'email' : 'SMS'}, ${size(sizeBytes)}`)}
  </dl>`;
}

function tabs(captured: Captured, current: ViewName, phone: boolean): Markup {
  const { id } = captured;
  const names = Object.keys(views) as ViewName[];
  const tab = (name: ViewName) =>
    name === current
      ? markup`<a href="/messages/${id}?view=${name}" aria-current="page">${views[name]}</a>`
      : markup`<a href="/messages/${id}?view=${name}">${views[name]}</a>`;
  const width = phone
    ? markup`<a href="/messages/${id}?view=html">Full width</a>`
    : markup`<a href="/messages/${id}?view=html&amp;width=phone">Phone width</a>`;
  return markup`<nav class="tabs" aria-label="Views of the message">
    ${names.map(tab)}<span class="end"></span>${current === 'html' && width}
    <a href="/messages/${id}/raw">Download .eml</a>
  </nav>`;
}

function framed(captured: Captured, phone: boolean): Markup {
  return markup`<div class="panel ${phone ? 'phone' : ''}">
      <iframe
        sandbox="allow-popups allow-popups-to-escape-sandbox"
        referrerpolicy="no-referrer"
        src="/messages/${captured.id}/preview"
        title="HTML of the message"
      ></iframe>
    </div>
    <p class="note">
      Scripts and forms are off, and nothing is loaded from other servers, images included.
    </p>`;
}

function source(raw: Buffer): Markup {
  const shown = raw.subarray(0, MAX_SOURCE_SHOWN).toString('utf8');
  const rest = raw.length - MAX_SOURCE_SHOWN;
  return markup`<div class="panel"><pre tabindex="0">${shown}</pre></div>
    ${rest > 0 && markup`<p class="note">${size(rest)} more are in the download.</p>`}`;
}

function headerTable({ headers }: MailContent): Markup {
  return markup`<div class="panel">
    <table>
      ${headers.map(
        ({ name, value }) =>
          markup`<tr>
            <th scope="row">${name}</th>
            <td>${value}</td>
          </tr>`,
      )}
    </table>
  </div>`;
}

function panel(captured: Captured, raw: Buffer, mail: MailContent, view: ViewName, phone: boolean): Markup {
  switch (view) {
    case 'html':
      return mail.html === null
        ? markup`<div class="empty">This message has no HTML.</div>`
        : framed(captured, phone);
    case 'text':
      return mail.text === null
        ? markup`<div class="empty">This message has no text.</div>`
        : markup`<div class="panel"><pre tabindex="0">${mail.text}</pre></div>`;
    case 'source':
      return source(raw);
    case 'headers':
      return headerTable(mail);
  }
}

function attachmentList(captured: Captured, { attachments }: MailContent): Markup | null {
  if (attachments.length === 0) return null;
  return markup`<h2>Attachments</h2>
    <div class="panel">
      <table>
        ${attachments.map(
          ({ filename, contentType, content }, index) =>
            markup`<tr>
              <th scope="row"><a href="/messages/${captured.id}/attachments/${index + 1}">${filename}</a></th>
              <td>${contentType}</td>
              <td class="size">${size(content.length)}</td>
            </tr>`,
        )}
      </table>
    </div>`;
}

async function emailContent(captured: Captured, raw: Buffer, query: URLSearchParams): Promise<Markup> {
  const mail = await readMail(raw);
  const asked = query.get('view');
  const usual = mail.problem !== null ? 'source' : mail.html === null ? 'text' : 'html';
  const view = isView(asked) ? asked : usual;
  const phone = query.get('width') === 'phone';
  return markup`${mail.problem !== null && markup`<p>This message cannot be parsed: ${mail.problem}.</p>`}
  ${tabs(captured, view, phone)}${panel(captured, raw, mail, view, phone)}${attachmentList(captured, mail)}`;
}

/** `GET /messages/:id?view=html|text|source|headers` */
export async function messagePage(
  captured: Captured,
  query: URLSearchParams,
  nonce: string,
): Promise<RawResult> {
  const { raw, subject, body, to } = captured;
  const title = raw === null ? `SMS to ${to}` : subject || '(no subject)';
  const content = markup`<a href="/">← All messages</a>
    <h1>${title}</h1>
    ${facts(captured)}
    ${raw === null ? markup`<div class="panel"><p class="bubble">${body ?? ''}</p></div>` : await emailContent(captured, raw, query)}`;
  return page(200, layout({ title: `${title} · Carillon mailbox`, nonce, bar: true, content }), nonce);
}
