// A message from a skeleton decodes to the same email as one that is built as a whole.
import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  createDkimSigner,
  generateDkimKey,
  type DkimKey,
} from '../../../../src/delivery/content/dkim/sign.ts';
import {
  type BuiltMessage,
  buildMessage,
  prepareContent,
} from '../../../../src/delivery/content/mime/message.ts';
import { createSkeleton, type SkeletonContent } from '../../../../src/delivery/content/skeletons/skeleton.ts';
import { addToHtmlLinks, addToTextLinks } from '../../../../src/delivery/content/mime/utm.ts';
import { createLinkTracker } from '../../../../src/features/tracking/links.ts';
import { createTrackingTokens } from '../../../../src/features/tracking/tokens.ts';
import { testKeyring } from '../../../support/webhooks.ts';
import { createRandom, randomBody, randomLine, type Random } from '../mime/random-text.ts';
import { address, email, parse, recipient, verify, wireFaults } from '../mime/wire.ts';

const seeds = Array.from({ length: 300 }, (_, seed) => seed + 1);
const tokens = createTrackingTokens(testKeyring);
const tracker = createLinkTracker(tokens);
const OWN = 'https://carillon.test/unsubscribe/abc';

const escape = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** Constant texts around values, and the numbers of the values that are links to unsubscribe. */
interface Texts {
  html: string[];
  text: string[];
  own: Set<number>;
}

/** HTML with values in texts, attributes and comments, and in links to unsubscribe. */
function randomTexts(random: Random): Texts {
  const own = new Set<number>();
  const html = [''];
  /** Appends constants with values between them. */
  const put = (...constants: string[]) => {
    for (const [n, constant] of constants.entries()) {
      if (n > 0) html.push('');
      html[html.length - 1] += constant;
    }
  };
  const url = () => `https://a.test/${random.integer(4)}?q=${'x'.repeat(random.integer(90))}&amp;r=%20#f`;
  const ownLink = () => {
    own.add(html.length - 1);
    put('<a class=x href="', '">leave</a>');
  };
  for (let n = 1 + random.integer(10); n > 0; n -= 1) {
    random.pick([
      () => put(`<p>${escape(randomBody(random))}`, ''),
      () => put(`<a href="${url()}">${escape(randomBody(random))}</a>`),
      () => put('<img alt="', `" title='x'>`),
      () => put('<!-- ', ' -->'),
      ownLink,
      () =>
        put(
          `<a href="https://b.test/`,
          random.pick(['?a=1&amp;b=', '#', '/']),
          `">${escape(randomBody(random))}</a>`,
        ),
      () => put(`<a data-no-track href='`, `'>`),
      () => put(random.pick(['=\n', ' \n', '.\n', 'From ', 'ж'.repeat(40), '漢字'.repeat(200)])),
      () => put('', ''),
    ])();
  }
  put(random.pick(['', '</body>', '</body></html>\n', ' ']));
  const text = Array.from({ length: 1 + random.integer(5) }, () =>
    // A NUL at the end of a link is removed either before or after the end is searched for.
    randomBody(random)
      .replaceAll(/[\r\0]/g, '')
      .toWellFormed(),
  );
  text[0] = `T${text[0] ?? ''}`;
  if (text.length > 1) {
    text[0] += random.pick([
      '',
      ' https://b.test/?a=',
      ' (https://b.test/',
      ' <https://b.test/(',
      ' [https://b.test/',
    ]);
    text[1] = random.pick(['', ')', '>', ').', ')>', '] ', '。']) + (text[1] ?? '');
  }
  return { html: html.map((part) => part.replaceAll('\r', '').toWellFormed()), text, own };
}

function randomValue(random: Random): string {
  return random.pick([
    () => 'Ada',
    () => '',
    () => ' ',
    () => '.',
    () => 'From ',
    () => '=',
    () => random.pick(['a(b', ')', '(c)', 'd]', '[', 'e。f', '“']),
    () => 'a\nb\n',
    () => '.'.repeat(random.integer(200)),
    () => 'https://c.test/?x=1&y=2',
    () => randomLine(random),
    () => randomBody(random).slice(0, 200),
  ])();
}

interface Case extends Texts {
  content: SkeletonContent;
  message: {
    accountId: number;
    messageId: number;
    set: number;
    tracking: Parameters<typeof tracker.plan>[0]['tracking'];
  };
  htmlValues: string[];
  textValues: string[];
  subject: string;
  headers: Record<string, string>;
}

function randomCase(seed: number): Case {
  const random = createRandom(seed);
  const texts = randomTexts(random);
  const tracking = random.pick([
    null,
    { opens: true, clicks: true, host: 'https://t.test', key: tokens.keyId },
    { opens: false, clicks: true, host: 'https://carillon.test', key: tokens.keyId },
  ]);
  const message = { accountId: 7, messageId: 2 ** 33 + seed, set: 5, tracking };
  const content: SkeletonContent = {
    ...texts,
    ownLinks: texts.own,
    ownTextLinks: new Set(),
    parameters: random.pick([[], [['utm_source', 'news']]]),
    tracking: tracker.plan(message),
    targetToken: (target) => tracker.targetToken(message, target),
    from: address('Señor <sender@example.com>'),
    replyTo: random.pick([null, address('reply@example.com')]),
    headers: { Precedence: 'bulk' },
    feedbackId: '4:2:campaign:carillon',
  };
  return {
    ...texts,
    content,
    message,
    htmlValues: texts.html.slice(1).map((_, n) => (texts.own.has(n) ? OWN : escape(randomValue(random)))),
    textValues: texts.text.slice(1).map(() => randomValue(random)),
    subject: randomLine(random),
    headers: { 'List-Unsubscribe': `<${OWN}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
  };
}

const join = (parts: readonly string[], values: readonly string[]) =>
  parts.map((part, n) => part + (values[n] ?? '')).join('');

function skeletonRecipient({ content, message, htmlValues, textValues, subject, headers }: Case) {
  const recipientToken = content.tracking ? tracker.recipientToken(message) : '';
  return { ...recipient, subject, headers, html: htmlValues, text: textValues, recipientToken };
}

type Signers = Parameters<typeof buildMessage>[2];

/** @returns null if the message has to be built as a whole */
function buildFast(given: Case, signers: Signers = []): Promise<BuiltMessage | null> {
  return Promise.resolve(createSkeleton(given.content)?.build(skeletonRecipient(given), signers) ?? null);
}

/** The complete content of one recipient, as `message.ts` builds it. */
function buildWhole(given: Case): Promise<BuiltMessage> {
  const { content, message, html, text, htmlValues, textValues, subject, headers } = given;
  const isOwn = (url: string) => url === OWN;
  const prepared = prepareContent(
    email({
      subject,
      html: addToHtmlLinks(join(html, htmlValues), content.parameters, isOwn),
      text: addToTextLinks(join(text, textValues), content.parameters, isOwn),
      from: content.from,
      replyTo: content.replyTo,
      headers: { ...headers, ...content.headers },
      feedbackId: content.feedbackId,
      tracking: content.tracking,
    }),
  );
  const own = prepared.tracked ? { tokens: tracker.tokens(message, prepared.tracked.html) } : {};
  return Promise.resolve(buildMessage(prepared, { ...recipient, ...own }, []));
}

/** Replaces tokens by their targets: links are numbered differently if the message is built as a whole. */
const withTargets = (html: string) =>
  html.replace(
    /\/([co])\/([\w~-]+)/g,
    (_link, kind, token: string) => `/${kind}/[${tokens.verify(token)?.url}]`,
  );

const readText = (text: string | undefined) => (text ?? '').replace(/\r\n?/g, '\n').replace(/\n+$/, '');

async function decoded(built: BuiltMessage) {
  const parsed = await parse(built);
  const headers = parsed.headers
    .filter(({ key }) => key !== 'content-type')
    .map(({ key, value }) => `${key}: ${value}`)
    .toSorted();
  return {
    headers,
    html: withTargets(readText(parsed.html)),
    text: readText(parsed.text),
    subject: parsed.subject,
  };
}

describe('a message from a skeleton', () => {
  let keys: DkimKey[];
  beforeAll(async () => {
    keys = await Promise.all(
      (['rsa', 'ed25519'] as const).map((algorithm) =>
        generateDkimKey({ domain: 'example.com', selector: algorithm, algorithm }),
      ),
    );
  });

  it('decodes to the same as one that is built as a whole', async () => {
    let fast = 0;
    for (const seed of seeds) {
      const given = randomCase(seed);
      const built = await buildFast(given);
      if (!built) continue;
      fast += 1;
      expect([seed, await decoded(built)]).toEqual([seed, await decoded(await buildWhole(given))]);
    }
    expect(fast).toBeGreaterThan(150);
  });

  it('obeys the rules for bytes on the wire', async () => {
    for (const seed of seeds) {
      const built = await buildFast(randomCase(seed));
      expect([seed, built ? wireFaults(built) : []]).toEqual([seed, []]);
    }
  });

  it('has valid signatures', async () => {
    for (const seed of seeds.slice(0, 100)) {
      const built = await buildFast(randomCase(seed), keys.map(createDkimSigner));
      if (!built) continue;
      const results = await verify(built.data, keys);
      expect([seed, ...results.map(({ status }) => status.result)]).toEqual([seed, 'pass', 'pass']);
    }
  });

  it('gives HTTP providers the same parts', async () => {
    for (const seed of seeds.slice(0, 100)) {
      const given = randomCase(seed);
      const skeleton = createSkeleton(given.content);
      const built = await buildFast(given);
      if (!skeleton || !built) continue;
      const { html, text } = await decoded(built);
      const own = skeletonRecipient(given);
      const clean = (value: string) => readText(value.replaceAll('\0', ''));
      expect([seed, withTargets(clean(skeleton.html(own))), clean(skeleton.text(own))]).toEqual([
        seed,
        html,
        text,
      ]);
    }
  });
});

describe('links with values in a message from a skeleton', () => {
  const parameters = [['utm_source', 'news']] as const;
  const links = { opens: false, clicks: true, host: 'https://t.test', key: tokens.keyId };
  const message = (clicks: boolean) => ({
    ...{ accountId: 7, messageId: 9, set: 5 },
    tracking: clicks ? links : null,
  });
  const base: Omit<SkeletonContent, 'html' | 'text' | 'parameters' | 'tracking'> = {
    ...{ ownLinks: new Set<number>(), ownTextLinks: new Set<number>(), from: address('sender@example.com') },
    ...{ replyTo: null, headers: {}, feedbackId: 'x' },
    targetToken: (target) => tracker.targetToken(message(true), target),
  };

  async function sent(
    content: Pick<SkeletonContent, 'html' | 'text' | 'parameters'>,
    html: string[],
    text: string[] = [],
    clicks = true,
  ) {
    const skeleton = createSkeleton({ ...base, ...content, tracking: tracker.plan(message(clicks)) });
    const recipientToken = clicks ? tracker.recipientToken(message(true)) : '';
    const own = { ...recipient, subject: 'x', headers: {}, html, text, recipientToken };
    const built = await skeleton?.build(own, []);
    if (!built) return null;
    const parsed = await parse(built);
    const hrefs = [...(parsed.html ?? '').matchAll(/href="([^"]*)"/g)].map(([, href = '']) => href);
    return {
      hrefs,
      text: parsed.text,
      targets: hrefs.map((href) => tokens.verify(href.split('/c/')[1] ?? '')),
    };
  }

  it("get their recipient's tokens, numbered after the links that all recipients share", async () => {
    const html = ['<a href="https://s.test/?u=', '&amp;b=1">A</a> <a href="https://s.test/p">B</a></body>'];
    const found = await sent({ html, text: ['x'], parameters: [] }, ['7&amp;8']);
    expect(found?.targets).toEqual([
      { accountId: 7, messageId: 9, link: 2, links: 2, url: 'https://s.test/?u=7&8&b=1' },
      { accountId: 7, messageId: 9, link: 1, links: 2, url: 'https://s.test/p' },
    ]);
  });

  it('get parameters, and stay readable without tracking', async () => {
    const html = ['<a href="https://s.test/?u=', '">A</a>'];
    const text = ['See https://s.test/?u=', '.'];
    const found = await sent({ html, text, parameters }, ['7&amp;8'], ['7'], false);
    expect(found?.hrefs).toEqual(['https://s.test/?u=7&amp;8&amp;utm_source=news']);
    expect(found?.text?.trim()).toBe('See https://s.test/?u=7&utm_source=news.');
  });

  it('require building the message as a whole if a value ends a link of the text', async () => {
    const text = ['See (https://s.test/?u=', ').'];
    for (const value of ['Ada Lovelace', 'a.', '(b', 'c)', 'd。'])
      expect(await sent({ html: ['<p>'], text, parameters }, [], [value])).toBeNull();
  });
});

describe('a content has no skeleton', () => {
  const base = randomCase(1).content;
  const tracking = { opens: true, clicks: true, host: 'https://t.test', key: tokens.keyId };
  const tracked = tracker.plan({ accountId: 7, messageId: 1, set: 5, tracking });
  const of = (changes: Partial<SkeletonContent>) =>
    createSkeleton({
      ...base,
      text: ['x'],
      ownLinks: new Set(),
      ownTextLinks: new Set(),
      parameters: [],
      tracking: tracked,
      ...changes,
    });

  it.each([
    ['a tag', ['<p ', '>']],
    ['the name of a tag', ['<h', '>']],
    ['an attribute without quotes', ['<p class=', '>']],
    ['the start of a tag', ['a <', '>']],
    ['an entity of a link that is tracked', ['<a href="https://a.test/?x&am', '">']],
  ])('if a value is in %s', (_where, html) => {
    expect(of({ html })).toBeNull();
  });

  it('unless the value is the link to unsubscribe', () => {
    expect(of({ html: ['<a href="', '">'], ownLinks: new Set([0]) })).not.toBeNull();
  });
});
