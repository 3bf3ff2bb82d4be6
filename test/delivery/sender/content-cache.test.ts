// Equal contents are prepared once, and the cache is bounded in number and bytes.
import { describe, expect, it } from '@jest/globals';
import { type EmailContent, prepareContent } from '../../../src/delivery/content/mime/message.ts';
import { createContentCache } from '../../../src/delivery/sender/compose/compose-email.ts';

const from = {
  name: null,
  address: 'a@b.example',
  local: 'a',
  domain: 'b.example',
  key: '',
  smtpUtf8: false,
};
const content: EmailContent = { subject: '', html: null, text: '', from, replyTo: null, headers: {} };
const numbered = (count: number, text = '') =>
  Array.from({ length: count }, (_, n) => ({ ...content, subject: `Subject ${n}`, text }));

const inThread = (heavy: EmailContent) => Promise.resolve(prepareContent(heavy));

describe('the cache of prepared contents', () => {
  it('prepares the same content once', () => {
    const prepare = createContentCache(inThread);
    expect(prepare({ ...content, subject: 'a' })).toBe(prepare({ ...content, subject: 'a' }));
  });

  it('prepares contents separately if any field differs', () => {
    const prepare = createContentCache(inThread);
    const different: EmailContent[] = [
      { ...content, subject: 'ab', text: 'c' },
      { ...content, subject: 'a', text: 'bc' },
      { ...content, subject: 'a1:b', text: 'c' },
      { ...content, html: 'x', text: null },
      { ...content, html: 'x', text: '' },
      { ...content, headers: { 'X-A': 'bX-C' } },
      { ...content, headers: { 'X-A': 'b', 'X-C': '' } },
      { ...content, from: { ...from, name: 'x' } },
      { ...content, replyTo: from },
      { ...content, feedbackId: 'x' },
    ];
    const prepared = different.map(prepare);
    expect(new Set(prepared).size).toBe(different.length);
    expect(different.map(prepare)).toEqual(prepared);
    expect(prepare({ ...content, subject: 'ab', text: 'c' })).toBe(prepared[0]);
  });

  it('keeps the 256 most recently used contents', () => {
    const prepare = createContentCache(inThread);
    const contents = numbered(257);
    const [first, second] = contents.slice(0, 256).map(prepare);
    expect(prepare({ ...content, subject: 'Subject 0' })).toBe(first);
    void prepare({ ...content, subject: 'Subject 256' });
    expect(prepare({ ...content, subject: 'Subject 0' })).toBe(first);
    expect(prepare({ ...content, subject: 'Subject 1' })).not.toBe(second);
  });

  it('evicts contents that together exceed 4 MiB', async () => {
    const prepare = createContentCache(inThread);
    const large = numbered(30, 'x'.repeat(100_000));
    const prepared = [];
    for (const each of large) prepared.push(await prepare(each));
    expect(prepare({ ...content, subject: 'Subject 29', text: 'x'.repeat(100_000) })).toBe(prepared[29]);
    expect(await prepare({ ...content, subject: 'Subject 0', text: 'x'.repeat(100_000) })).not.toBe(
      prepared[0],
    );
  });

  it('does not keep a content larger than an eighth of the cache', async () => {
    const prepare = createContentCache(inThread);
    const small = prepare({ ...content, subject: 'small' });
    const huge = { ...content, text: 'x'.repeat(300_000) };
    expect(await prepare(huge)).not.toBe(await prepare(huge));
    expect(prepare({ ...content, subject: 'small' })).toBe(small);
  });

  it.each([
    ['large text', { text: 'x'.repeat(70_000) }],
    ['HTML that has to be converted', { html: 'x'.repeat(20_000), text: null }],
    ['long headers', { headers: { 'X-A': 'x'.repeat(9_000), 'X-B': 'x'.repeat(9_000) } }],
  ])('gives %s to a thread, once for equal contents', async (_what, heavy: Partial<EmailContent>) => {
    const given: EmailContent[] = [];
    const prepare = createContentCache((one) => {
      given.push(one);
      return inThread(one);
    });
    const [first, second] = await Promise.all([
      prepare({ ...content, ...heavy }),
      prepare({ ...content, ...heavy }),
    ]);
    expect(first).toBe(second);
    expect(await prepare({ ...content, ...heavy })).toBe(first);
    expect(given).toHaveLength(1);
  });

  it('passes a content to a thread again after a failure', async () => {
    let failures = 1;
    const prepare = createContentCache((one) =>
      failures-- > 0 ? Promise.reject(new Error('ended')) : inThread(one),
    );
    const heavy = { ...content, text: 'x'.repeat(70_000) };
    await expect(prepare(heavy)).rejects.toThrow('ended');
    await expect(prepare(heavy)).resolves.toBeDefined();
  });

  it('prepares ordinary content at once', () => {
    const prepare = createContentCache(() => Promise.reject(new Error('not heavy')));
    const ordinary = { ...content, html: 'x'.repeat(30_000), text: 'x'.repeat(20_000) };
    expect(prepare(ordinary)).not.toBeInstanceOf(Promise);
  });
});
