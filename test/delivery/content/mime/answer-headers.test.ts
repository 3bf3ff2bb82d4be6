// An answer names the mail that it answers and those before it, and nothing that a stranger could smuggle in.
import { describe, expect, it } from '@jest/globals';
import { answerHeaders } from '../../../../src/delivery/content/mime/answer-headers.ts';

describe('answerHeaders', () => {
  it('names the mail, and in References those before it, the oldest first', () => {
    expect(answerHeaders({ id: 'c@x.test', references: ['b@x.test', 'a@x.test'] })).toEqual({
      'In-Reply-To': '<c@x.test>',
      References: '<a@x.test> <b@x.test> <c@x.test>',
    });
  });

  it('keeps the 20 nearest ids', () => {
    const references = Array.from({ length: 50 }, (_, n) => `${n}@x.test`);
    const { References = '' } = answerHeaders({ id: 'new@x.test', references });
    const ids = References.split(' ');
    expect([ids.length, ids[0], ids[18], ids[19]]).toEqual([20, '<18@x.test>', '<0@x.test>', '<new@x.test>']);
  });

  it.each([
    ['no id', null],
    ['a line break', 'a@x.test>\r\nBcc: <b@x.test'],
    ['a space', 'a @x.test'],
    ['a bracket', 'a>@x.test'],
    ['another script', 'ä@x.test'],
    ['an encoded word', '=?utf-8?q?a?=@x.test'],
    ['too many characters', 'x'.repeat(251)],
    ['nothing', ''],
  ])('is empty for a mail with %s, and leaves such an id out of References', (_name, id) => {
    expect(answerHeaders({ id, references: ['b@x.test'] })).toEqual({});
    expect(answerHeaders({ id: 'c@x.test', references: id === null ? [] : [id] })).toEqual({
      'In-Reply-To': '<c@x.test>',
      References: '<c@x.test>',
    });
  });
});
