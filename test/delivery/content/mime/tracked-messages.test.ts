// Tracked messages of random HTML differ from the original only in link targets and the pixel.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parseDocument } from 'htmlparser2';
import {
  createDkimSigner,
  generateDkimKey,
  type DkimKey,
} from '../../../../src/delivery/content/dkim/sign.ts';
import {
  buildMessage,
  type EmailContent,
  prepareContent,
} from '../../../../src/delivery/content/mime/message.ts';
import { htmlWithTokens, type LinkTracking } from '../../../../src/delivery/content/mime/tracked-html.ts';
import { createRandom, randomBody, type Random } from './random-text.ts';
import { email, parse, recipient, verify, wireFaults } from './wire.ts';

const seeds = Array.from({ length: 200 }, (_, seed) => seed + 1);
const tracking: LinkTracking = {
  id: 'test',
  clickPrefix: 'https://t.test/c/',
  openPrefix: 'https://t.test/o/',
  tokenOverhead: 39,
  maxUrlLength: 1_500,
  ownBases: ['https://t.test'],
};

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const randomToken = (random: Random, length: number) =>
  Array.from({ length }, () => random.pick([...ALPHABET])).join('');

const SCRAPS = [
  '<p>',
  '</p>',
  '<b',
  '>',
  '"',
  "'",
  '=',
  '&',
  '&amp;',
  '<!--',
  '-->',
  '<style>',
  '</style>',
  '<a href=',
  '<a href="',
  '</a>',
  '</body>',
  '<textarea>',
  '<![CDATA[',
  ']]>',
  '<?',
  'https://a.test/?x=1&amp;y=2"',
  ' ',
  '\n',
  'data-no-track',
];

/** HTML with links, in many languages, sometimes broken. */
function randomHtml(random: Random): string {
  const parts = Array.from({ length: 1 + random.integer(12) }, () => {
    const url = `https://a.test/${random.integer(9)}?q=${'x'.repeat(random.integer(200))}&amp;r=%20#f`;
    const quote = random.pick(['"', "'"]);
    return random.pick([
      () => `<a href=${quote}${url}${quote}>${randomBody(random)}</a>`,
      () => `<a class=x href=${url}>`,
      () => randomBody(random),
      () => random.pick(SCRAPS),
    ])();
  });
  return random.integer(2) === 0 ? `<body>${parts.join('')}</body>` : parts.join('');
}

function contentOf(random: Random): EmailContent {
  const html = randomHtml(random);
  return email({ html, text: random.pick([null, '', randomBody(random)]), tracking });
}

function prepareWithTokens(random: Random) {
  const content = contentOf(random);
  const prepared = prepareContent(content);
  const slots = prepared.tracked?.html.slots ?? [];
  return { content, prepared, tokens: slots.map(({ length }) => randomToken(random, length)) };
}

const readText = (text: string | undefined) => (text ?? '').replace(/\r\n?/g, '\n').replace(/\n+$/, '');

interface Found {
  name: string;
  attributes: Record<string, string>;
}

/** Every element of a document, in order. */
function elementsOf(html: string): Found[] {
  const found: Found[] = [];
  const visit = (nodes: readonly { type: string }[]) => {
    for (const node of nodes) {
      const element = node as unknown as { name?: string; attribs?: Record<string, string>; children?: [] };
      if (element.name && element.attribs) found.push({ name: element.name, attributes: element.attribs });
      visit(element.children ?? []);
    }
  };
  visit(parseDocument(html).children);
  return found;
}

describe('tracked messages of random HTML', () => {
  let keys: DkimKey[];
  beforeAll(async () => {
    keys = [await generateDkimKey({ domain: 'example.com', selector: 'ed', algorithm: 'ed25519' })];
  });

  it('obey the rules for bytes on the wire, and are parsed to the HTML with its tokens', async () => {
    let base64 = 0;
    for (const seed of seeds) {
      const { prepared, tokens } = prepareWithTokens(createRandom(seed));
      const built = await buildMessage(prepared, { ...recipient, tokens }, []);
      expect([seed, wireFaults(built)]).toEqual([seed, []]);
      if (!prepared.tracked) continue;
      if (prepared.tracked.places.encoding === 'base64') base64 += 1;
      const expected = htmlWithTokens(prepared.tracked.html, tokens).toWellFormed();
      expect([seed, readText((await parse(built)).html)]).toEqual([seed, readText(expected)]);
    }
    expect(base64).toBeGreaterThan(5);
  });

  it('have valid signatures', async () => {
    const signers = keys.map(createDkimSigner);
    for (const seed of seeds) {
      const { prepared, tokens } = prepareWithTokens(createRandom(seed));
      const built = await buildMessage(prepared, { ...recipient, tokens }, signers);
      const results = await verify(built.data, keys);
      expect([seed, results.map(({ status }) => status.result)]).toEqual([seed, ['pass']]);
    }
  });

  it('differ from the original only in the targets of links and by the pixel', () => {
    let rewritten = 0;
    for (const seed of seeds) {
      const { content, prepared, tokens } = prepareWithTokens(createRandom(seed));
      if (!prepared.tracked) continue;
      const { html, slots, links } = {
        html: htmlWithTokens(prepared.tracked.html, tokens),
        ...prepared.tracked.html,
      };
      const target = new Map(slots.map(({ link }, n) => [`https://t.test/c/${tokens[n]}`, links[link - 1]]));
      const elements = elementsOf(html).filter(
        ({ attributes }) => !attributes.src?.startsWith('https://t.test/o/'),
      );
      const restored = elements.map(({ name, attributes }) => {
        const url = name === 'a' ? target.get(attributes.href ?? '') : undefined;
        if (url === undefined) return { name, attributes };
        rewritten += 1;
        return { name, attributes: { ...attributes, href: url } };
      });
      const normal = (content.html ?? '').replaceAll('\0', '').replace(/\r\n?|\n/g, '\r\n');
      const original = elementsOf(normal).map(({ name, attributes }) => {
        const { href } = attributes;
        return { name, attributes: href === undefined ? attributes : { ...attributes, href: href.trim() } };
      });
      const trimmed = restored.map(({ name, attributes }) => {
        const { href } = attributes;
        return { name, attributes: href === undefined ? attributes : { ...attributes, href: href.trim() } };
      });
      expect([seed, trimmed]).toEqual([seed, original]);
    }
    expect(rewritten).toBeGreaterThan(200);
  });
});
