// Each folder of the covered parts of the code opens with a sentence that says what belongs in it.
import { describe, expect, it } from '@jest/globals';
import { findMutualFolders, findRoomFaults } from './rooms.ts';

const PAGE = 'src/delivery/ledger/facts/README.md';
const faultsOf = (text: string | null, file = 'src/delivery/ledger/facts/facts.ts') =>
  findRoomFaults(text === null ? [file] : [file, PAGE], () => text ?? '');

describe('the check of folders', () => {
  it('accepts an opening sentence, with or without a title', () => {
    expect(faultsOf('What providers report later.\n')).toEqual([]);
    expect(
      faultsOf('# Facts\n\nWhat providers report later,\nand what that changes. Start with `facts.ts`.\n'),
    ).toEqual([]);
  });

  it('reports a folder without a page', () => {
    expect(faultsOf(null)).toEqual([
      'src/delivery/ledger/facts: Add a README.md that says what belongs in the folder.',
    ]);
  });

  it.each(['', '# Facts\n', '# Facts\n\n- `facts.ts`\n', 'facts\n'])(
    'reports a page without a sentence: %j',
    (text) => {
      expect(faultsOf(text)).toEqual([`${PAGE}: Open with a sentence that says what belongs in the folder.`]);
    },
  );

  it('reports a page of more than ten lines', () => {
    expect(faultsOf('# Facts\n\n' + 'A sentence.\n'.repeat(10))).toEqual([]);
    expect(faultsOf('# Facts\n\n' + 'A sentence.\n'.repeat(11))).toEqual([
      `${PAGE}: Use at most 10 lines; it has 11.`,
    ]);
  });

  it('asks for one page of folders that are all alike', () => {
    expect(faultsOf(null, 'src/delivery/wire/providers/ses/api.ts')).toEqual([]);
    expect(faultsOf(null, 'src/delivery/wire/adapters/port.ts')).toHaveLength(1);
  });

  it('leaves out folders that are not covered', () => {
    expect(faultsOf(null, 'docs/sql/delivery/page.ts')).toEqual([]);
  });
});

describe('the check of folders that import each other', () => {
  const faultsIn = (texts: Record<string, string>) =>
    findMutualFolders(Object.keys(texts), (path) => texts[path] ?? '');
  const limits = 'src/delivery/ledger/limits/wallet.ts';
  const money = 'src/delivery/ledger/money/prices.ts';

  it('accepts imports in one direction', () => {
    const texts = {
      [limits]: "import { a } from '../money/prices.ts';",
      [money]: "import { b } from './usage.ts';",
    };
    expect(faultsIn(texts)).toEqual([]);
  });

  it('reports imports in both directions, also of types', () => {
    const texts = {
      [limits]: "import { a } from '../money/prices.ts';",
      [money]: "import type { Limit } from '../limits/limit.ts';",
    };
    expect(faultsIn(texts)).toEqual([
      `src/delivery/ledger/limits: Imports src/delivery/ledger/money and is imported by it: ${limits} imports ${money}, ` +
        `${money} imports src/delivery/ledger/limits/limit.ts.`,
    ]);
  });
});
