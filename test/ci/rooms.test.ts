// Each folder of the covered parts of the code opens with a sentence that says what belongs in it.
import { describe, expect, it } from '@jest/globals';
import { findRoomFaults } from './rooms.ts';

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
