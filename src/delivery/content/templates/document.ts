/** Builds complete HTML documents from what authors write. Texts have placeholders instead of Liquid. */
import { scanHtml } from '../mime/html-scan.ts';
import { textLinks } from '../mime/text-links.ts';
import { isMjml } from './mjml-kind.ts';
import { escapeValue } from './values.ts';

/** Detects the kind of a body by its tags. */
export type BodyKind = 'mjml' | 'html' | 'text';

const TAG_NAMES =
  'a|abbr|address|area|article|b|blockquote|body|br|button|center|code|del|div|em|font|footer|h[1-6]|head|header|hr|html|i|' +
  'img|ins|li|link|main|meta|ol|p|pre|s|section|small|span|strike|strong|style|sub|sup|table|tbody|td|tfoot|th|thead|' +
  'title|tr|u|ul';
const HTML_TAG = new RegExp(`<!doctype|<!--|</?(?:${TAG_NAMES})[\\s/>]`, 'i');

export function bodyKindOf(body: string): BodyKind {
  if (isMjml(body)) return 'mjml';
  return HTML_TAG.test(body) ? 'html' : 'text';
}

/** Wraps a fragment in a document. HTML with `<html>` or `<body>` is returned unchanged. */
export function completeDocument(html: string): string {
  const { hasHtmlTag, bodyStart } = scanHtml(html);
  if (hasHtmlTag || bodyStart >= 0) return html;
  return `<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title></title>
</head>
<body>
${html}
</body>
</html>
`;
}

const WORD = /[a-z0-9]+/g;

/** Escapes a text and turns its web addresses into links. @param isUrl whether a placeholder stands for a URL */
function linked(text: string, isUrl: (word: string) => boolean): string {
  const pieces: string[] = [];
  let done = 0;
  const put = (start: number, url: string) => {
    const escaped = escapeValue(url);
    pieces.push(escapeValue(text.slice(done, start)), `<a href="${escaped}">${escaped}</a>`);
    done = start + url.length;
  };
  const putWords = (end: number) => {
    const offset = done;
    for (const { 0: word, index } of text.slice(offset, end).matchAll(WORD))
      if (isUrl(word)) put(offset + index, word);
  };
  for (const { url, start } of textLinks(text)) {
    putWords(start);
    put(start, url);
  }
  putWords(text.length);
  pieces.push(escapeValue(text.slice(done)));
  return pieces.join('');
}

/**
 * The paragraphs of a text as HTML.
 * @param isBare whether a text consists only of placeholders for Liquid tags, and so needs no paragraph
 * @param isUrl whether a placeholder stands for a URL
 */
export function paragraphs(
  text: string,
  isBare: (text: string) => boolean,
  isUrl: (word: string) => boolean,
): string {
  return text
    .replaceAll('\r\n', '\n')
    .split(/\n[ \t]*\n\s*/)
    .filter((paragraph) => paragraph.trim() !== '')
    .map((paragraph) =>
      isBare(paragraph)
        ? paragraph.trim()
        : `<p>${linked(paragraph.trim(), isUrl).replaceAll('\n', '<br>\n')}</p>`,
    )
    .join('\n');
}

/**
 * Inserts the preheader, which mail programs show next to the subject, as a hidden element.
 * @param preheader not escaped
 */
export function withPreheader(html: string, preheader: string): string {
  if (preheader.trim() === '') return html;
  const { bodyStart } = scanHtml(html);
  const at = Math.max(bodyStart, 0);
  const hidden =
    '<div style="display:none;max-height:0;max-width:0;opacity:0;overflow:hidden;mso-hide:all">' +
    `${escapeValue(preheader)}</div>`;
  return `${html.slice(0, at)}\n${hidden}${html.slice(at)}`;
}

/** Inserts the footer before `</body>`, or at the end. */
export function withFooter(html: string, footer: string): string {
  const { bodyEnd } = scanHtml(html);
  const at = bodyEnd < 0 ? html.length : bodyEnd;
  return html.slice(0, at) + footer + html.slice(at);
}
