// MIME parameters of any length and script are formatted so that a parser reads the original.
import { expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import { formatParameterized } from '../../../../src/delivery/content/mime/parameters.ts';

it.each([
  ['utf-8', 'name=utf-8'],
  ['two words', 'name="two words"'],
  ['a"b\\c', String.raw`name="a\"b\\c"`],
  ['', 'name='.concat('""')],
  ['Größe', "name*=utf-8''Gr%C3%B6%C3%9Fe"],
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
