// Pages of the documentation name only files and pages that exist.
import { describe, expect, it } from '@jest/globals';
import { findDocFaults } from './docs.ts';

const files = new Set(['src/delivery/sender/loop/loop.ts', 'docs/flows.md', 'README.md']);
const faultsOf = (text: string, path = 'docs/page.md') =>
  findDocFaults(path, text, (name) => files.has(name));

describe('the check of the documentation', () => {
  it('accepts paths with and without src/, and links between pages', () => {
    const text =
      'See `src/delivery/sender/loop/loop.ts`, `delivery/sender/loop/loop.ts`, [flows](flows.md#runs), [top](../README.md).';
    expect(faultsOf(text)).toEqual([]);
  });

  it('reports a file that was moved, with its line', () => {
    expect(faultsOf('one\n`delivery/loop.ts` sends.')).toEqual([
      'docs/page.md:2: delivery/loop.ts does not exist.',
    ]);
  });

  it('reports a link to a page that is gone', () => {
    expect(faultsOf('[runs](runs.md#states)')).toEqual(['docs/page.md:1: runs.md does not exist.']);
  });

  it('ignores links to other sites, and names without a folder', () => {
    expect(faultsOf('[Temporal](https://temporal.io/x.md) and `loop.ts`')).toEqual([]);
  });

  it('checks only pages', () => {
    expect(faultsOf('`delivery/loop.ts`', 'CHANGELOG.md')).toEqual([]);
  });
});
