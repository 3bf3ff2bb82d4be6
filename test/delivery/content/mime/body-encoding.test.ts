// A text is encoded as 7bit, or else as quoted-printable or base64, whichever is shorter, with safe lines.
import { describe, expect, it } from '@jest/globals';
import { encodeText } from '../../../../src/delivery/content/mime/body-encoding.ts';

describe('the encoding of a text', () => {
  it.each([
    ['', '7bit', ''],
    ['plain\ttext', '7bit', 'plain\ttext'],
    ['a\nb\r\nc\rd\n', '7bit', 'a\r\nb\r\nc\r\nd\r\n'],
    ['\n\r\n', '7bit', '\r\n\r\n'],
    ['\r\r\n\n', '7bit', '\r\n\r\n\r\n'],
    ['x'.repeat(78), '7bit', 'x'.repeat(78)],
    ['x'.repeat(79), 'quoted-printable', `${'x'.repeat(75)}=\r\nxxxx`],
    ['NUL\0', '7bit', 'NUL'],
    ['1 = 1', '7bit', '1 = 1'],
    ['one and one = zwölf', 'quoted-printable', 'one and one =3D zw=C3=B6lf'],
    ['space \nend\t', 'quoted-printable', 'space=20\r\nend=09'],
    ['.\n..two\nx.', 'quoted-printable', '=2E\r\n=2E.two\r\nx.'],
    ['From me\n From\nFromage', 'quoted-printable', '=46rom me\r\n From\r\nFromage'],
    ['bell\x07', 'quoted-printable', 'bell=07'],
    ['漢字', 'base64', '5ryi5a2X'],
    ['half\ud83d and so on', 'quoted-printable', 'half=EF=BF=BD and so on'],
  ])('%j is %s', (text, transferEncoding, content) => {
    expect(encodeText(text)).toEqual({ transferEncoding, content });
  });

  it('protects the start of a line after a soft break', () => {
    expect(encodeText(`${'x'.repeat(75)}.ä`).content).toBe(`${'x'.repeat(75)}=\r\n=2E=C3=A4`);
    expect(encodeText(`${'x'.repeat(75)}From ä`).content).toBe(`${'x'.repeat(75)}=\r\n=46rom =C3=A4`);
  });

  it('uses quoted-printable or base64, whichever is shorter', () => {
    expect(encodeText('ä'.repeat(5) + 'x'.repeat(100)).transferEncoding).toBe('quoted-printable');
    expect(encodeText('ä'.repeat(60) + 'x'.repeat(20)).transferEncoding).toBe('base64');
  });

  it('has base64 lines of 76 characters, and encodes CRLF', () => {
    const { content } = encodeText('漢字\n'.repeat(100));
    expect(
      content
        .split('\r\n')
        .slice(0, -1)
        .every((line) => line.length === 76),
    ).toBe(true);
    expect(Buffer.from(content, 'base64').toString()).toBe('漢字\r\n'.repeat(100));
  });
});
