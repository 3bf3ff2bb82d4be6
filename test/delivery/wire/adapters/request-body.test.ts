// A body with files is exactly its JSON, reads one file after the other, and is never sent if one is not as it was.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  base64OfFile,
  base64OfMessage,
  joinBody,
  lostIfUnreadable,
  UnreadableError,
  writeJson,
} from '../../../../src/delivery/wire/adapters/request-body.ts';
import { outgoingLetter } from '../../../support/outgoing.ts';

const files = (contents: Buffer[]) =>
  outgoingLetter({ files: contents.map((content, n) => ({ filename: `${n}.bin`, content })) }).letter.files;

describe('a body of JSON', () => {
  it('has the files where they stand, and texts that need escapes', async () => {
    const contents = [randomBytes(1), Buffer.alloc(0), randomBytes(200_000)];
    const value = {
      'ü"': 'Zeile\n"2" 🔔',
      list: files(contents).map((file) => ({ content: base64OfFile(file) })),
    };
    const json = JSON.parse((await writeJson(value)).toString()) as unknown;
    const list = contents.map((content) => ({ content: content.toString('base64') }));
    expect(json).toEqual({ 'ü"': 'Zeile\n"2" 🔔', list });
  });

  it('has a message whose pieces end anywhere', async () => {
    const cut = fc.array(fc.uint8Array({ maxLength: 7 }), { maxLength: 12 });
    const property = fc.asyncProperty(cut, async (bytes) => {
      const pieces = bytes.map((each) => Buffer.from(each));
      const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
      const message = { size, smtpUtf8: false, eightBit: false, pieces: () => reusing(pieces) };
      const json = await writeJson({ data: base64OfMessage(message) });
      expect(json.toString()).toBe(`{"data":"${Buffer.concat(pieces).toString('base64')}"}`);
    });
    await fc.assert(property, { numRuns: 200 });
  });

  it('reads a file when the one before it is written', async () => {
    let reading = 0;
    let most = 0;
    const counted = files([randomBytes(10), randomBytes(20), randomBytes(30)]).map((file) => ({
      ...file,
      async base64() {
        most = Math.max(most, (reading += 1));
        const read = await file.base64();
        reading -= 1;
        return read;
      },
    }));
    await writeJson(counted.map(base64OfFile));
    expect(most).toBe(1);
  });
});

describe('a file', () => {
  it.each([
    ['is shorter', 3],
    ['is longer', 5],
  ])('that %s than it was cannot be read, and its message is tried again', async (_what, size) => {
    const pieces = () => [Buffer.alloc(4)];
    const problem = await joinBody(['a', { size, pieces }]).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(UnreadableError);
    expect(lostIfUnreadable(problem)).toEqual({ kind: 'lost', reason: 'the message could not be read' });
  });

  it('is not blamed for other errors', () => {
    expect(() => lostIfUnreadable(new Error('a bug'))).toThrow('a bug');
  });
});

/** Yields each piece in the same memory, as a reader of files may. */
async function* reusing(pieces: Buffer[]): AsyncGenerator<Buffer> {
  const memory = Buffer.alloc(7);
  for (const piece of pieces) {
    piece.copy(memory);
    yield Promise.resolve(memory.subarray(0, piece.length));
  }
}
