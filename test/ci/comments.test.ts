// A comment cannot switch off a lint rule, and every test file begins with a sentence on what it proves.
import { describe, expect, it } from '@jest/globals';
import { findCommentFaults } from './comments.ts';

const sentence = '// A sum has no order.';

/** Builds the comment from parts: written as a whole, it would be found in this file, too. */
const directive = (linter: string, action: string) => `/* ${linter}-${action} */`;

describe('directives', () => {
  it.each([
    directive('oxlint', 'disable'),
    directive('eslint', 'disable'),
    `export const one = 1; ${directive('oxlint', 'disable-line no-var')}`,
    `// ${directive('eslint', 'disable-next-line')}`,
    directive('oxlint', 'enable'),
  ])('are rejected: %s', (line) => {
    const fault = 'src/sum.ts:2: No comment switches a rule off: see .oxlintrc.json.';
    expect(findCommentFaults('src/sum.ts', `\n${line}\n`)).toEqual([fault]);
    expect(findCommentFaults('jest.config.js', `\n${line}\n`)).toHaveLength(1);
  });

  it('may be written about in texts', () => {
    expect(findCommentFaults('README.md', directive('oxlint', 'disable'))).toEqual([]);
  });
});

describe('the first line of a test file', () => {
  const fault =
    'test/sum.test.ts:1: The first line of a test file is a comment, one sentence: what the file proves.';

  it('is a sentence', () => {
    expect(findCommentFaults('test/sum.test.ts', `${sentence}\nimport './sum.ts';\n`)).toEqual([]);
  });

  it.each([
    ['', 'an empty file'],
    ["import './sum.ts';", 'code'],
    [`\n${sentence}`, 'a sentence on the second line'],
    ['// A sum has no order', 'a sentence without a full stop'],
    ['// a sum has no order.', 'a lower-case letter'],
    ['//A sum has no order.', 'no space'],
    ['/* A sum has no order. */', 'a block comment'],
    [`export {}; ${sentence}`, 'a comment behind code'],
  ])('is nothing else: %j (%s)', (text) => {
    expect(findCommentFaults('test/sum.test.ts', text)).toEqual([fault]);
  });

  it('is free in all other files', () => {
    expect(findCommentFaults('test/support/sum.ts', "import './sum.ts';")).toEqual([]);
  });
});
