/** Mails with the same words and the same file, each structured in another way that programs use. */
import { createHash } from 'node:crypto';

/** A mail that contains `words`, and a file. */
export interface MailKind {
  name: string;
  /** Its body has the part of the text and that of the file, with CRLF. */
  raw(file: string): string;
}

const FROM = 'From: Ada <ada@example.com>\r\nTo: <support@acme.test>\r\nMIME-Version: 1.0\r\n';
const WORDS = 'Content-Type: text/plain\r\n\r\nwords\r\n';

/** A file of this size, which is not text, in base64. */
export function fileOf(bytes: number): { content: Buffer; part: string; sha: string } {
  const content = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; at += 1) content[at] = (at * 167 + (at >> 8)) & 0xff;
  const lines = content.toString('base64').replace(/.{76}/g, '$&\r\n');
  const head =
    'Content-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=a.bin\r\nContent-Transfer-Encoding: base64\r\n';
  return {
    content,
    part: `${head}\r\n${lines.trimEnd()}\r\n`,
    sha: createHash('sha256').update(content).digest('hex'),
  };
}

/** @param field the end of the field Content-Type, after `multipart/mixed` */
function bounded(name: string, field: string, boundary: string, mark = (at: string) => at): MailKind {
  return {
    name,
    raw: (file) =>
      `${FROM}Content-Type: multipart/mixed${field}\r\n\r\n${mark(`--${boundary}`)}\r\n${WORDS}${mark(`--${boundary}`)}\r\n${file}${mark(`--${boundary}--`)}\r\n`,
  };
}

/** How boundaries are written: RFC 2045, section 5.1, RFC 2231, and what programs write instead. */
const boundaries = [
  bounded('a token', '; boundary=simple', 'simple'),
  bounded('a quoted text', '; boundary="=_a:b/c?d e"', '=_a:b/c?d e'),
  bounded('what should be quoted', '; boundary=----=_Part_1:2/3=', '----=_Part_1:2/3='),
  bounded('escaped characters', '; boundary="a\\"b\\\\c"', 'a"b\\c'),
  bounded('an upper-case name', '; BOUNDARY="B"; charset=utf-8', 'B'),
  bounded('a folded field', ';\r\n\tcharset="utf-8";\r\n  boundary\r\n =\r\n "folded"', 'folded'),
  bounded('a field folded without a space', ';\r\nboundary="unfolded"', 'unfolded'),
  bounded('a comment', ' (a comment; boundary=no); boundary=yes (the real one)', 'yes'),
  bounded('no semicolon', ' boundary=none', 'none'),
  bounded('no semicolon between parameters', '; charset=utf-8 boundary="next"', 'next'),
  bounded('two boundaries', '; boundary=first; boundary=second', 'first'),
  bounded('an open quote', '; boundary="open', 'open'),
  bounded('a space at its end', '; boundary="spaced "', 'spaced'),
  bounded('RFC 2231, encoded', "; boundary*=us-ascii''%3D_one", '=_one'),
  bounded('RFC 2231, in sections', "; boundary*0*=us-ascii''%3D_ab;\r\n boundary*1*=cd_%3D", '=_abcd_='),
  bounded('RFC 2231, in plain sections', '; boundary*0="ab";\r\n boundary*1="c%3D"', 'abc%3D'),
  bounded('RFC 2231, in mixed sections', "; boundary*1=cd; boundary*0*=utf-8'en'%61b", 'abcd'),
  bounded('spaces after the delimiters', '; boundary=x', 'x', (mark) => `${mark} \t`),
  bounded('none', '', 'missing'),
  bounded('none, with another parameter', '; charset=utf-8', 'missing'),
  bounded('an empty one', '; boundary=""', 'missing'),
  bounded('another one', '; boundary=other', 'shown'),
  bounded('quotes of the wrong kind', "; boundary='single'", 'single'),
];

function structured(name: string, type: string, body: (file: string) => string): MailKind {
  return { name, raw: (file) => `${FROM}Content-Type: ${type}\r\n\r\n${body(file)}` };
}

const ALTERNATIVE = 'Content-Type: multipart/alternative; boundary=';
const HTML = 'Content-Type: text/html\r\n\r\n<p>words</p>\r\n';

const structures = [
  structured('a text before and after the parts', 'multipart/mixed; boundary=b', (file) =>
    `This is a mail in MIME format.\r\n--b\r\n${WORDS}--b\r\n${file}--b--\r\nThe end.\r\n`),
  structured('no last delimiter', 'multipart/mixed; boundary=b', (file) => `--b\r\n${WORDS}--b\r\n${file}`),
  structured('parts after the last delimiter', 'multipart/mixed; boundary=b', (file) =>
    `--b\r\n${WORDS}--b--\r\n\r\n--b\r\n${file}--b--\r\n`),
  structured('repeated delimiters', 'multipart/mixed; boundary=b', (file) =>
    `--b\r\n${WORDS}--b\r\n--b\r\n${file}--b--\r\n`),
  structured('a boundary that begins with that around it', 'multipart/mixed; boundary=b', (file) =>
    `--b\r\n${ALTERNATIVE}bb\r\n\r\n--bb\r\n${WORDS}--bb\r\n${HTML}--bb--\r\n--b\r\n${file}--b--\r\n`),
  structured('the same boundary on two levels', 'multipart/mixed; boundary=b', (file) =>
    `--b\r\n${ALTERNATIVE}b\r\n\r\n--b\r\n${WORDS}--b\r\n${HTML}--b--\r\n--b\r\n${file}--b--\r\n`),
  structured('an inner body without an end', 'multipart/mixed; boundary=b', (file) =>
    `--b\r\n${ALTERNATIVE}i\r\n\r\n--i\r\n${WORDS}--i\r\n${HTML}--b\r\n${file}--b--\r\n`),
  structured('an inner body without parts', 'multipart/mixed; boundary=b', (file) =>
    `--b\r\n${ALTERNATIVE}i\r\n\r\nwords\r\n--b\r\n${file}--b--\r\n`),
  structured('an inner body without a boundary', 'multipart/mixed; boundary=b', (file) =>
    `--b\r\nContent-Type: multipart/alternative\r\n\r\nwords\r\n--b\r\n${file}--b--\r\n`),
  structured('a part without an empty line', 'multipart/mixed; boundary=b', (file) =>
    `--b\r\nContent-Type: text/plain\r\n words?\r\nwords\r\n--b\r\n${file}--b--\r\n`),
  structured('a part without a header', 'multipart/mixed; boundary=b', (file) =>
    `--b\r\nwords\r\n--b\r\n${file}--b--\r\n`),
  structured('a type of multipart that is not known', 'multipart/x-parts; boundary=b', (file) =>
    `--b\r\n${WORDS}--b\r\n${file}--b--\r\n`),
  structured('a star as the type of multipart', 'multipart/*; boundary=b', (file) =>
    `--b\r\n${WORDS}--b\r\n${file}--b--\r\n`),
  structured('lines that look like delimiters', 'multipart/mixed; boundary=b', (file) =>
    `--b\r\nContent-Type: text/plain\r\n\r\nwords\r\n--\r\n--bc\r\n--b x\r\n--b\r\n${file}--b--\r\n`),
]; // prettier-ignore

export const mailKinds: readonly MailKind[] = [...boundaries, ...structures];
