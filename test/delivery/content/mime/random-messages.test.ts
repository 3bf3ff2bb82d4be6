// Messages of random text obey the wire rules, parse to the original, and have valid signatures.
import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  createDkimSigner,
  generateDkimKey,
  type DkimKey,
} from '../../../../src/delivery/content/dkim/sign.ts';
import { buildMessage, prepareContent } from '../../../../src/delivery/content/mime/message.ts';
import { createRandom, randomBody, randomLine, type Random } from './random-text.ts';
import { address, build, email, parse, recipient, verify, wireFaults } from './wire.ts';

const seeds = Array.from({ length: 300 }, (_, seed) => seed + 1);

/** The text as a mail client shows it: without NUL, with a replacement for each lone surrogate. */
function expectedText(text: string): string {
  return readText(text.replaceAll('\0', '').toWellFormed());
}

/** Normalizes line ends, and removes those after the last line, which parsers treat differently. */
function readText(text: string | undefined): string {
  return (text ?? '').replace(/\r\n?/g, '\n').replace(/\n+$/, '');
}

function randomContent(random: Random) {
  return email({
    subject: randomLine(random),
    text: randomBody(random),
    html: random.integer(3) === 0 ? null : `<p>${randomBody(random)}</p>`,
    from: { ...address('sender@example.com'), name: randomLine(random).slice(0, 256) || null },
    headers: { 'X-Random': randomLine(random) },
  });
}

describe('messages of random text', () => {
  let keys: DkimKey[];
  beforeAll(async () => {
    const of = (algorithm: DkimKey['algorithm']) =>
      generateDkimKey({ domain: 'example.com', selector: algorithm, algorithm });
    keys = await Promise.all([of('rsa'), of('ed25519')]);
  });

  it('obey the rules for bytes on the wire', () => {
    for (const seed of seeds)
      expect([seed, wireFaults(build(randomContent(createRandom(seed))))]).toEqual([seed, []]);
  });

  it('are parsed to the original text', async () => {
    for (const seed of seeds) {
      const content = randomContent(createRandom(seed));
      const parsed = await parse(build(content));
      const from = parsed.from as { name: string; address: string };
      expect([seed, parsed.subject ?? '']).toEqual([
        seed,
        content.subject.toWellFormed().replace(/^ +| +$/g, ''),
      ]);
      expect([seed, from.name]).toEqual([seed, content.from.name?.toWellFormed() ?? '']);
      expect([seed, readText(parsed.text)]).toEqual([seed, expectedText(content.text ?? '')]);
      if (content.html !== null)
        expect([seed, readText(parsed.html)]).toEqual([seed, expectedText(content.html)]);
    }
  });

  it('have valid signatures', async () => {
    const signers = keys.map(createDkimSigner);
    for (const seed of seeds.slice(0, 100)) {
      const built = await buildMessage(prepareContent(randomContent(createRandom(seed))), recipient, signers);
      const results = await verify(built.data, keys);
      expect([seed, ...results.map(({ status }) => status.result)]).toEqual([seed, 'pass', 'pass']);
      expect([seed, wireFaults(built)]).toEqual([seed, []]);
    }
  });
});
