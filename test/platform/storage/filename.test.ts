// An uploaded file name is made safe in linear time, and is quoted as RFC 6266 requires.
import { describe, expect, it } from '@jest/globals';
import { contentDisposition, safeFilename } from '../../../src/platform/storage/file.ts';

describe('the name of an uploaded file', () => {
  it.each([
    ['logo.png', 'logo.png'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\Users\\ada\\logo.png', 'logo.png'],
    ['Grüße aus Köln.pdf', 'Grüße aus Köln.pdf'],
    ['日本語.txt', '日本語.txt'],
    ['a\r\nSet-Cookie: x=1.png', 'aSet-Cookie_ x=1.png'],
    ['photo\u202egpj.exe', 'photogpj.exe'],
    ['\ud800.png', '\ufffd.png'],
    ['.htaccess', 'htaccess'],
    ['  .. ', 'file'],
    ['', 'file'],
  ])('%j becomes %j', (given, expected) => {
    expect(safeFilename(given)).toBe(expected);
  });

  it('is cut to 200 bytes between characters, and keeps its extension', () => {
    const name = safeFilename(`${'ü'.repeat(300)}.jpeg`);
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(200);
    expect(name).toMatch(/^ü+\.jpeg$/);
  });

  it('is cleaned in linear time, whatever runs of dots it contains', () => {
    const dots = '.'.repeat(500_000);
    expect(safeFilename(`${dots}a${dots}b${dots}`)).toBe(`a${'.'.repeat(197)}.b`);
  });

  it('is in Content-Disposition both in ASCII and in UTF-8 (RFC 6266)', () => {
    expect(contentDisposition('inline', 'logo.png')).toBe('inline; filename=logo.png');
    expect(contentDisposition('inline', 'my logo.png')).toBe('inline; filename="my logo.png"');
    expect(contentDisposition('attachment', "Köln's (1).pdf")).toBe(
      `attachment; filename="K_ln's (1).pdf"; filename*=UTF-8''K%C3%B6ln%27s%20%281%29.pdf`,
    );
    expect(contentDisposition('attachment', 'a"; filename="b')).toBe(
      'attachment; filename="a_; filename=_b"; filename*=UTF-8\'\'a%22%3B%20filename%3D%22b',
    );
  });
});
