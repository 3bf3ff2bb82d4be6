// The client of clamd sends files in pieces, reads each reply, and fails if the scanner does not answer.
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createClamdScanner, ScannerError } from '../../../../src/features/inbox/scan/clamd.ts';
import { type FakeClamd, startFakeClamd } from '../../../support/fake-clamd.ts';

const MEGABYTE = 1024 * 1024;
const limits = { connectMs: 5_000, idleMs: 5_000, scanMs: 20_000 };
const running = new AbortController().signal;

let clamd: FakeClamd;

beforeAll(async () => {
  clamd = await startFakeClamd();
});
afterAll(() => clamd.close());
beforeEach(() => {
  clamd.files.length = 0;
  clamd.verdict = () => 'stream: OK';
  clamd.maxBytes = Infinity;
});

const scan = (content: Readable, changes: Partial<typeof limits> = {}, stopping = running) =>
  createClamdScanner(clamd.url, { ...limits, ...changes }).scan(content, stopping);

async function* pieces(count: number, bytes: number, onPiece = (_index: number) => undefined as unknown) {
  for (let index = 0; index < count; index += 1) {
    onPiece(index);
    yield Buffer.alloc(bytes, index % 251);
    await turn();
  }
}

describe('replies', () => {
  it.each([
    ['stream: OK', { status: 'clean' }],
    ['stream: Win.Test.EICAR_HDB-1 FOUND', { status: 'infected', signature: 'Win.Test.EICAR_HDB-1' }],
    ['stream: {HEX}a b.1.UNOFFICIAL FOUND', { status: 'infected', signature: '{HEX}a b.1.UNOFFICIAL' }],
    ['stream: Heuristics.Encrypted.Zip FOUND', { status: 'skipped', reason: 'encrypted' }],
    ['stream: Heuristics.Encrypted.PDF FOUND', { status: 'skipped', reason: 'encrypted' }],
    ['stream: Heuristics.Limits.Exceeded.MaxFileSize FOUND', { status: 'skipped', reason: 'limit_exceeded' }],
    ['INSTREAM size limit exceeded. ERROR', { status: 'skipped', reason: 'too_large' }],
  ])('reads %s', async (reply, verdict) => {
    clamd.verdict = () => reply;
    expect(await scan(Readable.from([Buffer.from('a file')]))).toEqual(verdict);
  });

  it.each(['stream: Can not create temporary file ERROR', 'COMMAND READ TIMED OUT', 'UNKNOWN COMMAND', ''])(
    'takes %p for a failure of the scanner',
    async (reply) => {
      clamd.verdict = () => reply;
      await expect(scan(Readable.from([Buffer.from('a file')]))).rejects.toThrow(ScannerError);
    },
  );
});

it('sends a file of many pieces as it is', async () => {
  const expected: Buffer[] = [];
  for await (const piece of pieces(50, 70_000)) expected.push(piece);
  expect(await scan(Readable.from(pieces(50, 70_000)))).toEqual({ status: 'clean' });
  expect(clamd.files[0]?.equals(Buffer.concat(expected))).toBe(true);
});

it('sends an empty file', async () => {
  expect(await scan(Readable.from([]))).toEqual({ status: 'clean' });
  expect(clamd.files).toEqual([Buffer.alloc(0)]);
});

it('stops sending once the scanner has refused the length', async () => {
  clamd.maxBytes = MEGABYTE;
  let sent = 0;
  const content = Readable.from(pieces(400, 64 * 1024, () => (sent += 1)));
  expect(await scan(content)).toEqual({ status: 'skipped', reason: 'too_large' });
  expect(sent).toBeLessThan(400);
  expect(content.destroyed).toBe(true);
});

it('fails if nothing listens', async () => {
  const gone = await startFakeClamd();
  await gone.close();
  const content = Readable.from(pieces(2, 10));
  await expect(createClamdScanner(gone.url).scan(content, running)).rejects.toThrow(
    /the virus scanner is unavailable: connect ECONNREFUSED/,
  );
  expect(content.destroyed).toBe(true);
});

it('fails if the connection ends without a reply', async () => {
  const scanner = await startFakeClamd();
  scanner.verdict = () => {
    void scanner.close();
    return null;
  };
  await expect(
    createClamdScanner(scanner.url).scan(Readable.from([Buffer.from('x')]), running),
  ).rejects.toThrow(ScannerError);
});

it('fails if the verdict takes too long, but not because it takes longer than a piece may', async () => {
  clamd.verdict = () => null;
  const begun = Date.now();
  await expect(scan(Readable.from([Buffer.from('x')]), { idleMs: 20, scanMs: 400 })).rejects.toThrow(
    /takes too long/,
  );
  expect(Date.now() - begun).toBeGreaterThanOrEqual(390);
});

it('throws the error of a file that cannot be read', async () => {
  const broken = Readable.from(
    pieces(3, 10, (index) => {
      if (index === 1) throw new Error('the disk is broken');
    }),
  );
  await expect(scan(broken)).rejects.toThrow('the disk is broken');
});

it('ends at once when the process stops', async () => {
  const stopping = new AbortController();
  clamd.verdict = () => {
    stopping.abort(new Error('the process stops'));
    return null;
  };
  const begun = Date.now();
  await expect(scan(Readable.from([Buffer.from('x')]), {}, stopping.signal)).rejects.toThrow(
    'the process stops',
  );
  expect(Date.now() - begun).toBeLessThan(limits.scanMs / 2);
});

it('returns the version of the scanner', async () => {
  expect(await createClamdScanner(clamd.url).version()).toBe('ClamAV 0.0/1/now');
});
