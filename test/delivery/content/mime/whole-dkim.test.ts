// Signatures of letters cover the files and everyone in the header, and their body hash is computed by stream.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { relaxedBodyHash } from '../../../../src/delivery/content/dkim/canonical.ts';
import {
  createDkimSigner,
  type DkimKey,
  generateDkimKey,
} from '../../../../src/delivery/content/dkim/sign.ts';
import { hashWhole } from '../../../../src/delivery/content/mime/whole-body.ts';
import { prepareWhole } from '../../../../src/delivery/content/mime/whole.ts';
import { buildLetter, file, letter, readFile } from './letters.ts';
import { createRandom, randomBody } from './random-text.ts';
import { address, split, verify } from './wire.ts';

const tracking = {
  id: 'test',
  clickPrefix: 'https://t.test/c/',
  openPrefix: 'https://t.test/o/',
  tokenOverhead: 39,
  maxUrlLength: 1_500,
  ownBases: [],
};
const link = '<a href="https://a.test/?x=1">a</a>  \t<img src="cid:logo">';

function randomLetter(seed: number) {
  const random = createRandom(seed);
  const logo = file('logo', 'image/png', {
    contentId: 'logo',
    disposition: 'inline',
    size: 1 + random.integer(500),
  });
  const pdf = file('pdf', 'application/pdf', { size: 1 + random.integer(5_000) });
  return letter({
    text: random.integer(2) === 0 ? null : randomBody(random),
    html: random.integer(4) === 0 ? null : randomBody(random) + link + randomBody(random),
    files: [[logo, pdf], [pdf], [logo], []][random.integer(4)] ?? [],
    to: [address('Ada <ada@example.com>'), address('jo@example.com')],
    cc: random.integer(2) === 0 ? [] : [address('cc@example.com')],
    tracking: random.integer(2) === 0 ? null : tracking,
  });
}

const seeds = Array.from({ length: 60 }, (_, n) => n + 1);

describe('the signatures of a letter', () => {
  let keys: DkimKey[];
  beforeAll(async () => {
    const of = (algorithm: DkimKey['algorithm']) =>
      generateDkimKey({ domain: 'example.com', selector: algorithm, algorithm });
    keys = await Promise.all([of('rsa'), of('ed25519')]);
  });

  const resultsOf = async (data: Buffer) => (await verify(data, keys)).map(({ status }) => status.result);

  it('are valid, with the body hash of the whole', async () => {
    const signers = keys.map(createDkimSigner);
    for (const seed of seeds) {
      const prepared = prepareWhole(randomLetter(seed));
      const tokens = prepared.tracked?.html.slots.map(({ length }) => 'T'.repeat(length)) ?? [];
      const built = await buildLetter(prepared, { signers, tokens });
      const { body } = split(built);
      const hash = relaxedBodyHash(Buffer.from(body, 'latin1'));
      expect([seed, await hashWhole(prepared, tokens, readFile)]).toEqual([seed, hash]);
      if (seed <= 20) expect([seed, ...(await resultsOf(built.data))]).toEqual([seed, 'pass', 'pass']);
      for (const token of tokens)
        expect(body.replaceAll('=\r\n', '').includes(token) || body.includes('base64')).toBe(true);
    }
  });

  const changes: [string, (text: string) => string][] = [
    ['another Cc', (text) => text.replace('Cc: ', 'Cc: eve@example.com, ')],
    ['a second Cc', (text) => `Cc: eve@example.com\r\n${text}`],
    ['a second To', (text) => `To: eve@example.com\r\n${text}`],
    ['another file', (text) => text.replace(/[A-Z]([A-Za-z0-9+/=]*\r\n--=_)/, '+$1')],
  ];
  it.each(changes)('fail with %s', async (_name, change) => {
    const given = letter({ cc: [address('cc@example.com')], files: [file('pdf', 'application/pdf')] });
    const { data } = await buildLetter(given, { signers: keys.map(createDkimSigner) });
    const changed = change(data.toString('latin1'));
    expect(changed).not.toBe(data.toString('latin1'));
    expect(await resultsOf(Buffer.from(changed, 'latin1'))).not.toContain('pass');
  });

  it('fail with a Cc that was added to a letter without one', async () => {
    const { data } = await buildLetter(letter(), { signers: keys.map(createDkimSigner) });
    const results = await resultsOf(Buffer.concat([Buffer.from('Cc: eve@example.com\r\n'), data]));
    expect(results).toHaveLength(2);
    expect(results).not.toContain('pass');
  });
});
