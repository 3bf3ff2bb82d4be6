// A mail is rebuilt only if nothing of it is lost; all others pass as they are, or are refused for a reason.
import { describe, expect, it } from '@jest/globals';
import { scanStructure } from '../../../src/delivery/content/read/structure.ts';
import { type Shape, shapeOf } from '../../../src/features/submission/shape.ts';

const shaped = (raw: string): Shape => {
  const bytes = Buffer.from(raw.replace(/\r?\n/g, '\r\n'), 'latin1');
  return shapeOf(bytes, scanStructure(bytes));
};

/** A part, or a mail without other fields. */
const part = (fields: string, body = 'Hello\n') => `${fields === '' ? '' : `${fields}\n`}\n${body}`;

let boundaries = 0;
function multipart(subtype: string, ...parts: string[]): string {
  const boundary = `b${(boundaries += 1)}`;
  const inner = parts.map((each) => `--${boundary}\n${each.endsWith('\n') ? each : `${each}\n`}`).join('');
  return `Content-Type: multipart/${subtype}; boundary=${boundary}\n\n${inner}--${boundary}--\n`;
}

const PLAIN = part('Content-Type: text/plain; charset=utf-8', 'Gr\xc3\xbc\xc3\x9fe\n');
const HTML = part('Content-Type: text/html; charset=utf-8', '<p>Hello <img src="cid:logo"></p>\n');
const LOGO = part(
  'Content-Type: image/png; name=logo.png\nContent-ID: <logo>\nContent-Transfer-Encoding: base64\nContent-Disposition: inline',
  'iVBORw0KGgo=\n',
);
const PDF = part(
  'Content-Type: application/pdf\nContent-Disposition: attachment; filename="a b.pdf"\nContent-Transfer-Encoding: base64',
  'JVBERi0xLjQK\n',
);
const INVITATION = part('Content-Type: text/calendar; method=REQUEST; charset=utf-8', 'BEGIN:VCALENDAR\n');

/** What becomes of a mail: its texts and files, or why it passes as it is. */
function fate(raw: string): string {
  const shape = shaped(raw);
  if (shape.kind !== 'rebuilt') return `${shape.kind}: ${shape.reason}`;
  const texts = [...(shape.text === null ? [] : ['text']), ...(shape.html === null ? [] : ['html'])];
  const files = shape.files.map(
    ({ filename, contentType, contentId, disposition }) =>
      `${disposition} ${contentType} ${filename}${contentId === null ? '' : ` <${contentId}>`}`,
  );
  return [...texts, ...files].join(', ');
}

const LOGO_FILE = 'inline image/png logo.png <logo>';
const PDF_FILE = 'attachment application/pdf a b.pdf';

describe('shapeOf', () => {
  it.each<[string, string, string]>([
    ['a text', PLAIN, 'text'],
    ['a text without a type', part(''), 'text'],
    ['nothing but a header', 'Subject: Hello\n', 'text'],
    ['HTML', HTML, 'html'],
    ['alternatives', multipart('alternative', PLAIN, HTML), 'text, html'],
    ['an image in HTML', multipart('related', HTML, LOGO), `html, ${LOGO_FILE}`],
    [
      'all of it',
      multipart('mixed', multipart('alternative', PLAIN, multipart('related', HTML, LOGO), INVITATION), PDF),
      `text, html, ${LOGO_FILE}, attachment text/calendar; method=REQUEST; charset=utf-8 attachment.ics, ${PDF_FILE}`,
    ],
    [
      'Apple Mail’s nesting',
      multipart('alternative', PLAIN, multipart('mixed', HTML, PDF)),
      `text, html, ${PDF_FILE}`,
    ],
    ['a file alone', PDF, PDF_FILE],
    [
      'a text with a name',
      multipart('mixed', PLAIN, part('Content-Type: text/plain; name=a.txt')),
      'text, attachment text/plain a.txt',
    ],
    ['UTF-8 without a label', part('Content-Type: text/plain', '\xc3\xa9\n'), 'text'],
    ['ISO-8859-1', part('Content-Type: text/plain; charset=iso-8859-1', '\xe9\n'), 'text'],
  ])('rebuilds %s', (_name, raw, expected) => {
    expect(fate(raw)).toBe(expected);
  });

  it.each<[string, string]>([
    [
      'multipart/signed',
      multipart(
        'signed; protocol="application/pgp-signature"',
        PLAIN,
        part('Content-Type: application/pgp-signature'),
      ),
    ],
    ['multipart/encrypted', multipart('encrypted', part('Content-Type: application/pgp-encrypted'), PDF)],
    ['multipart/report', multipart('report', PLAIN, part('Content-Type: message/delivery-status'))],
    [
      'application/pkcs7-mime',
      part(
        'Content-Type: application/pkcs7-mime; smime-type=enveloped-data\nContent-Transfer-Encoding: base64',
        'MIIB\n',
      ),
    ],
    [
      'message/rfc822',
      multipart('mixed', PLAIN, part('Content-Type: message/rfc822', 'Subject: Hi\n\nHi\n')),
    ],
    ['several texts', multipart('mixed', PLAIN, PDF, PLAIN)],
    ['text and HTML that are no alternatives', multipart('mixed', PLAIN, HTML)],
    ['text and HTML that are no alternatives', multipart('alternative', HTML, PLAIN)],
    [
      'the alternative text/x-amp-html',
      multipart('alternative', PLAIN, part('Content-Type: text/x-amp-html', '<html ⚡4email>\n'), HTML),
    ],
    ['several invitations', multipart('mixed', PLAIN, INVITATION, INVITATION)],
    ['a PGP text', part('Content-Type: text/plain', '-----BEGIN PGP MESSAGE-----\n')],
    ['a text that is not in its character set', part('Content-Type: text/plain; charset=utf-8', '\xe9\n')],
    ['a text that is not in its character set', part('Content-Type: text/plain; charset=utf-7', '+AOk-\n')],
    ['the encoding x-uuencode', part('Content-Transfer-Encoding: x-uuencode')],
    [
      'Content-Location',
      multipart('related', HTML, part('Content-Type: image/png\nContent-Location: logo.png')),
    ],
    [
      'Content-Location',
      multipart(
        'related',
        part('Content-Type: text/html', '<img src="a/logo.png">\n'),
        LOGO.replace('Content-ID', 'Content-Location: a/logo.png\nContent-ID'),
      ),
    ],
    [
      'Content-Location',
      part('Content-Type: text/html\nContent-Location: https://acme.example/', '<a href="a">\n'),
    ],
    ['a Content-ID that is not valid', multipart('related', HTML, LOGO, LOGO)],
    [
      'a part whose type is not valid',
      multipart('mixed', PLAIN, part('Content-Type: pdf\nContent-Disposition: attachment')),
    ],
    ['more than 20 files', multipart('mixed', PLAIN, ...Array.from({ length: 21 }, () => PDF))],
    ['a multipart without parts', 'Content-Type: multipart/mixed; boundary=b\n\nHello\n'],
    ['a text of more than 2 MB', part('', 'Hello, world\n'.repeat(200_000))],
  ])('passes %s', (reason, raw) => {
    expect(fate(raw)).toBe(`opaque: ${reason}`);
  });

  it('refuses mail that must not be read further', () => {
    expect(fate(multipart('mixed', ...Array.from({ length: 1_001 }, () => PLAIN)))).toBe(
      'refused: the mail has more than 1,000 parts',
    );
  });

  it('says which fields of parts are left out', () => {
    const logo = LOGO.replace(
      'Content-ID',
      'content-description: Our\n logo\nContent-Location: logo.png\nContent-ID',
    );
    const raw = multipart(
      'mixed',
      multipart('related', HTML, logo),
      `Content-Description: A file\nContent-MD5: x\nX-Attachment-Id: 1\n${PDF}`,
    );
    expect(shaped(`Content-Language: en\n${raw}`)).toMatchObject({
      kind: 'rebuilt',
      leftOut: ['content-description', 'content-md5', 'content-location'],
    });
    expect(shaped(`Content-Language: en\n${PLAIN}`)).toMatchObject({ kind: 'rebuilt', leftOut: [] });
  });

  it('joins the lines of a flowed text', () => {
    const shape = shaped(part('Content-Type: text/plain; format=flowed', 'One \nline\n'));
    expect(shape).toMatchObject({ kind: 'rebuilt', text: 'One line\n' });
  });
});
