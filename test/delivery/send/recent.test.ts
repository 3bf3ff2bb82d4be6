import { describe, expect, it } from '@jest/globals';
import type { EmailContent } from '../../../src/delivery/mime/message.ts';
import { createContentCache } from '../../../src/delivery/send/compose.ts';
import { createRecent } from '../../../src/delivery/send/recent.ts';

/** Which keys are made, in this order, when they are asked for one after another. */
function made(bounds: { entries: number; size: number }, keys: string[]): string[] {
  const recent = createRecent<string>(bounds, (key) => key.length);
  const asked: string[] = [];
  for (const key of keys) recent.get(key, () => (asked.push(key), key));
  return asked;
}

describe('what is remembered', () => {
  it('is made once', () => {
    expect(made({ entries: 9, size: 99 }, ['a', 'b', 'a', 'b'])).toEqual(['a', 'b']);
  });

  it('is as many as are allowed; the oldest goes first', () => {
    expect(made({ entries: 2, size: 99 }, ['a', 'b', 'c', 'b', 'c', 'a'])).toEqual(['a', 'b', 'c', 'a']);
  });

  it('is together no larger than allowed', () => {
    const keys = Array.from({ length: 9 }, (_, n) => `${n}xxx`);
    expect(made({ entries: 99, size: 32 }, [...keys, '8xxx', '0xxx'])).toEqual([...keys, '0xxx']);
  });

  it('is nothing that would push out most of the others', () => {
    expect(made({ entries: 99, size: 32 }, ['a', 'large', 'a', 'large'])).toEqual(['a', 'large', 'large']);
  });
});

describe('prepared content', () => {
  const from = {
    name: null,
    address: 'a@b.example',
    local: 'a',
    domain: 'b.example',
    key: '',
    smtpUtf8: false,
  };
  const content: EmailContent = { subject: '', html: null, text: '', from, replyTo: null, headers: {} };

  it('is another where only the border between two texts has moved, or one is empty and not absent', () => {
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
});
