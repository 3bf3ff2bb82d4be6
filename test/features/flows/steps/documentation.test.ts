// The pages on flows describe every type of step, in the order of the list.
import { readFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { stepTypeNames, stepTypes } from '../../../../src/features/flows/steps/index.ts';
import type { StepType } from '../../../../src/features/flows/steps/step.ts';

/** The names in a heading or in the first cell of a row. */
const namesIn = (text: string) => text.split(',').map((name) => name.replaceAll('`', '').trim());

const isType = (name: string) => (stepTypeNames as string[]).includes(name);

function rowsOf(page: string): string[] {
  return [...page.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = '']) => namesIn(cell)).filter(isType);
}

it('docs/flow-steps.md has a section and an example of each type', async () => {
  const page = await readFile('docs/flow-steps.md', 'utf8');
  const headings = [...page.matchAll(/^## (.+)$/gm)].flatMap(([, heading = '']) => namesIn(heading));
  expect(headings.filter(isType)).toEqual(stepTypeNames);
  for (const name of stepTypeNames)
    expect(page).toMatch(new RegExp(`^\\{? *"?type"?: "${name}"|^\\{ "type": "${name}"`, 'm'));
});

it('docs/flow-steps.md says what a simulation may assume of each type', async () => {
  const page = await readFile('docs/flow-steps.md', 'utf8');
  const assumed = (stepTypes as readonly StepType[]).filter(({ assumptions }) => assumptions);
  const simulate = page.slice(page.indexOf('\n## Simulate'));
  expect(rowsOf(simulate).sort()).toEqual(assumed.map(({ type }) => type).sort());
});

it('docs/flows.md has a row of the fields of each type', async () => {
  const page = await readFile('docs/flows.md', 'utf8');
  const section = page.slice(page.indexOf('\n## Steps')).split('\n## Activation')[0] ?? '';
  expect(rowsOf(section)).toEqual(stepTypeNames);
});
