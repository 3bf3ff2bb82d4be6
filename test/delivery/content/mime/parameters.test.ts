// MIME parameters of any length and script are formatted so that a parser reads the original.
import { expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import {
  formatNamed,
  formatParameterized,
  parseMediaType,
} from '../../../../src/delivery/content/mime/parameters.ts';

it.each([
  ['utf-8', 'name=utf-8'],
  ['two words', 'name="two words"'],
  ['a"b\\c', String.raw`name="a\"b\\c"`],
  ['', 'name='.concat('""')],
  ['Größe', "name*=utf-8''Gr%C3%B6%C3%9Fe"],
  ['=?utf-8?Q?no_word?=', "name*=utf-8''%3D%3Futf-8%3FQ%3Fno_word%3F%3D"],
  ["it's (a) * é", "name*=utf-8''it%27s%20%28a%29%20%2A%20%C3%A9"],
])('formats the parameter %j', (text, parameter) => {
  expect(formatParameterized('text/plain', { name: text })).toBe(`text/plain;\r\n ${parameter}`);
});

it.each(['x'.repeat(300), '漢字'.repeat(50), 'Ein Name von einiger Länge '.repeat(8), '👩‍👩‍👧‍👦'.repeat(20)])(
  'formats a long parameter so that a parser reads the original: %s',
  async (filename) => {
    const field = formatParameterized('attachment', { filename });
    for (const line of field.split('\r\n')) expect(line.length).toBeLessThanOrEqual(78);
    const message = `Content-Type: text/csv\r\nContent-Disposition: ${field}\r\n\r\nx\r\n`;
    const { attachments } = await PostalMime.parse(message);
    expect(attachments[0]?.filename).toBe(filename);
  },
);

it.each(['invoice.pdf', 'Größe.pdf', '漢字'.repeat(50), '👩‍👩‍👧‍👦'.repeat(20)])(
  'names a file so that programs that read only Content-Type find it: %s',
  async (filename) => {
    const field = formatNamed('text/csv', { charset: 'utf-8', name: 'other' }, filename);
    for (const line of field.split('\r\n')) expect(line.length).toBeLessThanOrEqual(78);
    const message = `Content-Type: ${field}\r\nContent-Disposition: attachment\r\n\r\nx\r\n`;
    const { attachments } = await PostalMime.parse(message);
    expect(attachments[0]?.filename).toBe(filename);
  },
);

it.each([
  [
    'Text/Calendar;Method=REQUEST ; charset="utf-8"',
    'text/calendar',
    { method: 'REQUEST', charset: 'utf-8' },
  ],
  ['application/vnd.ms-excel ', 'application/vnd.ms-excel', {}],
  ['a/b; c=1; C=2', 'a/b', { c: '1' }],
  [String.raw`a/b; c="d\"e;f"`, 'a/b', { c: 'd"e;f' }],
])('reads the media type %j', (text, type, parameters) => {
  expect(parseMediaType(text)).toEqual({ type, parameters });
});

it.each([
  '',
  'text',
  'text/',
  'text/plain;',
  'text/plain; a',
  'text/plain; a=b c',
  'a/b; c="d',
  'a/b; c="\r\n"',
])('does not read the media type %j', (text) => {
  expect(parseMediaType(text)).toBeNull();
});
