// The delivery page documents every limit exactly as the code defines it.
import { readFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { limits, type Limits } from '../../../../src/delivery/ledger/limits/authority.ts';
import type { ClaimRule, HandOverRule, Limit } from '../../../../src/delivery/ledger/limits/limit.ts';
import { errorStatus } from '../../../../src/errors.ts';

const PAGE = 'docs/delivery.md';
const HEADING = '## Limits';

function inClaim(rule: ClaimRule | undefined): string {
  if (!rule) return '';
  return rule.effect === 'hold' ? '`held`' : 'claimed past all limits';
}

function beforeHandOver(rule: HandOverRule | undefined): string {
  if (!rule) return '';
  const effects = { drop: () => 'leaves the queue', release: () => 'back to the queue' };
  return rule.effect === 'fail' ? `\`failed\`: \`${rule.code}\`` : effects[rule.effect]();
}

/** The row of a limit as the page has to show it. */
function rowOf({ name, title, accept, refusal, claim, handOver, status, plain }: Limit): string[] {
  const code = (accept ?? refusal)?.code;
  return [
    `\`${name}\``,
    title,
    code ? `${errorStatus[code]} \`${code}\`` : '',
    inClaim(claim),
    beforeHandOver(handOver),
    status ? `\`${status.reason}\`` : '',
    plain,
  ];
}

it('the page on delivery shows the table of limits as the code defines it', async () => {
  const page = await readFile(PAGE, 'utf8');
  const section = page.slice(page.indexOf(HEADING)).split('\n## ')[0] ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith('|'));
  const rows = lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  expect(rows).toEqual((limits as Limits).map(rowOf));
});
