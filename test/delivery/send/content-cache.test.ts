import { describe, expect, it } from '@jest/globals';
import type { EmailContent } from '../../../src/delivery/mime/message.ts';
import { createContentCache } from '../../../src/delivery/send/compose.ts';

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

describe('the cache of prepared contents', () => {
  it('prepares the same content once', () => {
    const prepare = createContentCache();
    expect(prepare({ ...content, subject: 'a' })).toBe(prepare({ ...content, subject: 'a' }));
  });

  it('prepares contents separately if any field differs', () => {
    const prepare = createContentCache();
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

  it('keeps the 256 contents that were used last', () => {
    const prepare = createContentCache();
    const contents = numbered(257);
    const [first, second] = contents.slice(0, 256).map(prepare);
    expect(prepare({ ...content, subject: 'Subject 0' })).toBe(first);
    prepare({ ...content, subject: 'Subject 256' });
    expect(prepare({ ...content, subject: 'Subject 0' })).toBe(first);
    expect(prepare({ ...content, subject: 'Subject 1' })).not.toBe(second);
  });

  it('evicts contents that together exceed 4 MiB', () => {
    const prepare = createContentCache();
    const large = numbered(30, 'x'.repeat(100_000));
    const prepared = large.map(prepare);
    expect(prepare({ ...content, subject: 'Subject 29', text: 'x'.repeat(100_000) })).toBe(prepared[29]);
    expect(prepare({ ...content, subject: 'Subject 0', text: 'x'.repeat(100_000) })).not.toBe(prepared[0]);
  });

  it('does not keep a content of more than an eighth of its size', () => {
    const prepare = createContentCache();
    const small = prepare({ ...content, subject: 'small' });
    const huge = { ...content, text: 'x'.repeat(300_000) };
    expect(prepare(huge)).not.toBe(prepare(huge));
    expect(prepare({ ...content, subject: 'small' })).toBe(small);
  });
});
