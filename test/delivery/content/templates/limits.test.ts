// Contents that take too much time or memory are refused, and do not affect other messages or accounts.
/** Contents designed to take time or memory. Time limits are those of production unless a test says otherwise. */
import { afterAll, describe, expect, it } from '@jest/globals';
import {
  ContentEngineUnavailableError,
  NotRenderedError,
  type Renderable,
  RenderError,
  RenderTimeoutError,
} from '../../../../src/delivery/content/templates/content.ts';
import { createContentEngine } from '../../../../src/delivery/content/templates/engine.ts';
import { ReadLimit } from '../../../../src/delivery/content/templates/render-outputs.ts';
import { sms, valuesOf, withBody } from './sources.ts';

const engine = createContentEngine({ threads: 1, compileMs: 2_000 });
afterAll(() => engine.close());

const drafted = (text: string): Renderable => ({ id: null, accountId: 1, subject: null, html: null, text });

async function outcome(text: string, variables: Record<string, unknown> = {}): Promise<unknown> {
  try {
    return await engine.render(drafted(text), valuesOf(variables));
  } catch (error) {
    return error;
  }
}

const loops = (depth: number, inside: string) =>
  '{% for a in (1..9999) %}'.repeat(depth) + inside + '{% endfor %}'.repeat(depth);

/**
 * Unlike ranges, the caller's lists do not count against a rendering's memory: only the time limit ends these loops.
 */
const endless = '{% for a in list %}'.repeat(6) + '{% endfor %}'.repeat(6);
const listOf = (length: number) => valuesOf({ list: Array.from({ length }, () => 1) });

describe('a content', () => {
  it.each([
    ['nested loops', loops(6, 'x')],
    ['loops that do nothing', loops(6, '')],
    ['a long range', '{% for a in (1..999999999) %}x{% endfor %}'],
    [
      'a text that doubles',
      `{% assign s = "0123456789" %}${'{% assign s = s | append: s %}'.repeat(60)}{{ s }}`,
    ],
    [
      'a captured text that doubles',
      `{% assign s = "0123456789" %}${'{% capture s %}{{ s }}{{ s }}{% endcapture %}'.repeat(60)}{{ s }}`,
    ],
    [
      'replacements that grow',
      `{% assign s = "aaaaaaaaaa" %}${'{% assign s = s | replace: "a", s %}'.repeat(20)}{{ s }}`,
    ],
    [
      'lists that grow',
      `{% assign s = "a,a" | split: "," %}${'{% assign s = s | concat: s %}'.repeat(60)}{{ s | size }}`,
    ],
    [
      'a list that names a long text often',
      `{% assign s = "0123456789" %}${'{% assign s = s | append: s %}'.repeat(17)}{% assign l = s | split: "!" %}${'{% assign l = l | concat: l %}'.repeat(8)}{{ l | strip_html }}`,
    ],
    ['a long result', '{% for a in (1..9999) %}' + 'x'.repeat(1_000) + '{% endfor %}'],
    [
      'filters in a loop',
      loops(3, '{{ "abc" | upcase | replace: "A", "B" | split: "" | sort | join: "," }}'),
    ],
  ])('with %s is refused, and the next one is rendered', async (_what, text) => {
    expect(await outcome(text)).toBeInstanceOf(RenderError);
    expect(await outcome('{% if true %}fine{% endif %}')).toMatchObject({ text: 'fine' });
  });

  it('does not affect the rest of its batch', async () => {
    const text = '{% for a in (1..count) %}{% for b in (1..count) %}x{% endfor %}{% endfor %}';
    const batch = [2, 99_999_999, 3].map((count) => valuesOf({ count }));
    const [first, second, third] = await engine.renderBatch(drafted(text), batch);
    expect(first).toMatchObject({ text: 'xxxx' });
    expect(second).toBeInstanceOf(RenderError);
    expect(third).toMatchObject({ text: 'xxxxxxxxx' });
  });

  it.each([
    [
      'MJML',
      `<mjml><mj-body>${'<mj-section>\n<mj-column>\n<mj-text>x</mj-text>\n</mj-column>\n</mj-section>\n'.repeat(20_000)}</mj-body></mjml>`,
    ],
    [
      'MJML with styles to inline',
      `<mjml><mj-head><mj-style inline="inline">${'p > a b + c:not(d) { color: red }'.repeat(5_000)}</mj-style></mj-head><mj-body><mj-section><mj-column><mj-text>${'<p><a><b>x</b></a></p>'.repeat(5_000)}</mj-text></mj-column></mj-section></mj-body></mjml>`,
    ],
  ])('of 2 MB of %s is refused, and the next one is compiled', async (_what, body) => {
    const { problems } = await engine.compile(withBody(body), 1);
    expect(problems.map(({ code }) => code)).toEqual(['too_slow']);
    // The time limit of this test is short, so a busy machine may need more than one attempt.
    let content = null;
    for (let n = 0; n < 20 && !content; n += 1) ({ content } = await engine.compile(sms('x'), 1));
    expect(content).not.toBeNull();
  });

  it('of 2 MB of HTML is compiled', async () => {
    const patient = createContentEngine({ threads: 1, compileMs: 120_000 });
    const body = `<p>Hi {{ x }} <a href="{{ y }}">z</a></p>${'<p>text</p>\n'.repeat(80)}`.repeat(2_000);
    try {
      const { content, problems } = await patient.compile(withBody(body), 1);
      expect(problems).toEqual([]);
      expect(content?.variables).toEqual(['x', 'y']);
    } finally {
      await patient.close();
    }
  }, 120_000);

  it('in progress is refused when the engine is closed', async () => {
    const closing = createContentEngine({ threads: 1 });
    const compiling = closing.compile(withBody('<p>x</p>'), 1);
    const refused = expect(compiling).rejects.toThrow('the process is stopping');
    await closing.close();
    await refused;
  });
});

describe('the thread of the caller', () => {
  const encoded = (outputs: number, filters: number) =>
    `{{ v${' | url_encode'.repeat(filters)} | truncate: 1 }}`.repeat(outputs);
  const isInThread = (text: string, v: unknown) =>
    engine.renderBatch(drafted(text), [valuesOf({ v })]) instanceof Promise;

  it('renders outputs with few filters and short values', () => {
    expect(isInThread(encoded(5, 9), '/')).toBe(false);
  });

  it('does not render a content with more than 100 filters', () => {
    expect(isInThread(encoded(11, 9), '/')).toBe(true);
  });

  it.each([
    ['filters of long texts', encoded(5, 19), '/'.repeat(60_000)],
    ['filters of long lists', '{{ v | truncate: 1 }}'.repeat(90), Array.from({ length: 30_000 }, () => null)],
    ['long arguments', '{{ "x" | default: v, v, v, v, v, v, v, v, v }}'.repeat(90), '/'.repeat(60_000)],
    ['outputs of long texts', '{{ v }}'.repeat(30), '/'.repeat(60_000)],
    [
      'sizes of large objects',
      '{{ v.size }}'.repeat(100),
      Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [n, n])),
    ],
  ])('leaves %s to a thread', (_what, text, value) => {
    expect(isInThread(text, value)).toBe(true);
  });

  it('leaves the messages of a batch that exceed the limit of one message to a thread', async () => {
    const batch = Array.from({ length: 50 }, () => valuesOf({ v: '/'.repeat(60_000) }));
    const content = { ...drafted('{{ v }}'), html: '<p>{{ v | truncate: 1, "" }}</p>' };
    expect(engine.renderBatch(content, batch.slice(0, 3))).not.toBeInstanceOf(Promise);
    const rendering = engine.renderBatch(content, batch);
    expect(rendering).toBeInstanceOf(Promise);
    const results = await rendering;
    expect(results.map((result) => (result instanceof RenderError ? result : result.html))).toEqual(
      batch.map(() => '<p>/</p>'),
    );
  });

  it('leaves a message to a thread if the others of its group have used up the limit', () => {
    const divided = engine.divide({ ...drafted('x'), html: '<p>{{ v }}</p>' });
    const [limit, values] = [new ReadLimit(), valuesOf({ v: '/'.repeat(60_000) })];
    const results = Array.from({ length: 50 }, () => divided?.html?.render(values, limit) ?? null);
    expect(results[0]).not.toBeNull();
    expect(results.at(-1)).toBeNull();
    expect(divided?.html?.render(values)).not.toBeNull();
  });

  it('leaves only the messages with large values to a thread', async () => {
    const text = '{{ v | url_encode | truncate: 2, "" }}'.repeat(20);
    const batch = ['a', '/'.repeat(60_000), 'b'].map((v) => valuesOf({ v }));
    const results = await engine.renderBatch(drafted(text), batch);
    expect(results.map((result) => (result instanceof RenderError ? result : result.text))).toEqual(
      ['a', '%2', 'b'].map((each) => each.repeat(20)),
    );
  });

  it('renders large values of a divided content as a whole', () => {
    const content = {
      id: null,
      accountId: 1,
      subject: '{{ v }}',
      html: '<p>{{ v | url_encode }}</p>'.repeat(20),
      text: 'x',
    };
    const divided = engine.divide(content);
    expect(divided?.html?.render(valuesOf({ v: 'a' }))).toHaveLength(20);
    expect(divided?.html?.render(valuesOf({ v: '/'.repeat(60_000) }))).toBeNull();
  });
});

describe('a slow batch', () => {
  it('leaves messages that it has no time for to another batch', async () => {
    const results = await engine.renderBatch(
      drafted(endless),
      Array.from({ length: 10 }, () => listOf(9_999)),
    );
    expect(results[0]).toBeInstanceOf(RenderTimeoutError);
    expect(results.at(-1)).toBeInstanceOf(NotRenderedError);
  });

  it('blames only the message for which its thread was ended', async () => {
    const impatient = createContentEngine({ threads: 1, renderMs: 700 });
    try {
      const [first, second, third] = await impatient.renderBatch(drafted(endless), [2, 9_999, 3].map(listOf));
      expect(second).toBeInstanceOf(RenderTimeoutError);
      for (const other of [first, third]) expect(other).not.toBeInstanceOf(RenderTimeoutError);
    } finally {
      await impatient.close();
    }
  });
});

describe('the threads', () => {
  const slow = (accountId: number) => ({ ...drafted(endless), accountId });

  it('serve an account while another has much work waiting', async () => {
    const shared = createContentEngine({ threads: 2 });
    try {
      let done = 0;
      const flood = Array.from({ length: 8 }, () =>
        Promise.resolve(shared.render(slow(1), listOf(9_999))).catch(() => (done += 1)),
      );
      const fine = { ...drafted('{% if true %}fine{% endif %}'), accountId: 2 };
      expect(await shared.render(fine, valuesOf())).toMatchObject({ text: 'fine' });
      expect(done).toBeLessThan(8);
      await shared.close();
      await Promise.all(flood);
    } finally {
      await shared.close();
    }
  });

  it('refuse an account that already has too much work waiting', async () => {
    const small = createContentEngine({ threads: 1, maxWaiting: 1 });
    try {
      const work = [1, 1].map((accountId) =>
        Promise.resolve(small.render(slow(accountId), listOf(9_999))).catch((error: unknown) => error),
      );
      await expect(small.render(slow(1), listOf(9_999))).rejects.toBeInstanceOf(
        ContentEngineUnavailableError,
      );
      await small.close();
      await Promise.all(work);
    } finally {
      await small.close();
    }
  });
});
