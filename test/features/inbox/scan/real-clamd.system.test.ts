// A real clamd finds viruses, says what it cannot scan, and takes a file of 25 MB with flat memory.
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import v8 from 'node:v8';
import vm from 'node:vm';
import { expect, it } from '@jest/globals';
import { createClamdScanner, ScannerError } from '../../../../src/features/inbox/scan/clamd.ts';
import { type RealClamd, startClamd, VIRUS } from '../../../support/clamd.ts';
import { testsThatNeed } from '../../../support/tests-that-need.ts';
import { zip } from '../../../support/zip.ts';

const MEGABYTE = 1024 * 1024;
const running = new AbortController().signal;
const virus = Buffer.from(`a text with ${VIRUS} in it`);
const { describe, beforeAll, afterAll } = testsThatNeed('clamd');

/** A mail with one attachment. */
function mailWith(attachment: Buffer): Buffer {
  return Buffer.from(
    [
      'From: ada@example.com',
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: application/zip',
      'Content-Transfer-Encoding: base64',
      '',
      ...(attachment.toString('base64').match(/.{1,76}/g) ?? []),
      '--b--',
      '',
    ].join('\r\n'),
  );
}

function nested(levels: number): Buffer {
  let content: Buffer = Buffer.from('the innermost');
  for (let level = 0; level < levels; level += 1) content = zip(`${level}.zip`, content);
  return content;
}

/** Pieces of random bytes, each made only when it is read. */
function* pieces(megabytes: number, onPiece: () => void) {
  for (let index = 0; index < megabytes * 16; index += 1) {
    onPiece();
    yield randomBytes(MEGABYTE / 16);
  }
}

describe('a real clamd', () => {
  let clamd: RealClamd;

  beforeAll(async () => {
    clamd = await startClamd();
  });
  afterAll(() => clamd.close());

  const scan = (content: Buffer) => createClamdScanner(clamd.url).scan(Readable.from([content]), running);
  const found = { status: 'infected', signature: 'Carillon.Test.UNOFFICIAL' };

  it.each([
    ['a clean file', Buffer.from('a text'), { status: 'clean' }],
    ['an empty file', Buffer.alloc(0), { status: 'clean' }],
    ['a clean archive', zip('a.txt', Buffer.from('a text')), { status: 'clean' }],
    ['a file with a virus', virus, found],
    ['an archive with a virus', zip('a.txt', virus), found],
    ['a mail with a virus in an archive', mailWith(zip('a.txt', virus)), found],
    [
      'an encrypted archive',
      zip('a.txt', Buffer.from('a text'), true),
      { status: 'skipped', reason: 'encrypted' },
    ],
    ['an archive with too many levels', nested(8), { status: 'skipped', reason: 'limit_exceeded' }],
    ['a stream that is too long', Buffer.alloc(31 * MEGABYTE), { status: 'skipped', reason: 'too_large' }],
  ])('judges %s', async (_case, content, verdict) => {
    expect(await scan(content)).toEqual(verdict);
  });

  it('always learns that a stream is too long', async () => {
    for (let attempt = 0; attempt < 50; attempt += 1)
      expect(await scan(Buffer.alloc(31 * MEGABYTE))).toEqual({ status: 'skipped', reason: 'too_large' });
  });

  it('reports its version', async () => {
    expect(await createClamdScanner(clamd.url).version()).toMatch(/^ClamAV \d/);
  });

  it('takes a file of 25 MB with flat memory', async () => {
    v8.setFlagsFromString('--expose-gc');
    const collectGarbage = vm.runInNewContext('gc') as () => void;
    const buffered = () => {
      collectGarbage();
      return process.memoryUsage().arrayBuffers;
    };
    const before = buffered();
    let highest = 0;
    let read = 0;
    const content = Readable.from(
      pieces(25, () => {
        if ((read += 1) % 16 === 0) highest = Math.max(highest, buffered() - before);
      }),
    );
    expect(await createClamdScanner(clamd.url).scan(content, running)).toEqual({ status: 'clean' });
    expect(highest).toBeLessThan(4 * MEGABYTE);
  });

  it('is unavailable while it is stopped', async () => {
    await clamd.stop();
    await expect(scan(virus)).rejects.toThrow(ScannerError);
    await clamd.start();
    expect(await scan(virus)).toEqual(found);
  });
});
