/**
 * Contents that ask for so much memory at once that V8 would end the whole process, not only the thread. Each is
 * rendered in a process of its own, so that one that fails fails only its test.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';

const PROGRAM = new URL('./render-alone.ts', import.meta.url);

/** @returns the exit status, and the name of the error or the text that was rendered */
async function renderAlone(template: string, variables: object = {}): Promise<unknown> {
  const child = spawn(process.execPath, [PROGRAM.pathname], { stdio: ['pipe', 'pipe', 'ignore'] });
  const exited = once(child, 'exit');
  child.stdin.end(JSON.stringify({ template, variables }));
  const [output, [status]] = await Promise.all([text(child.stdout), exited]);
  return { status, output };
}

const LONG_LIST = `{% assign s = "0123456789" %}${'{% assign s = s | append: s %}'.repeat(16)}{% assign l = s | split: "!" %}${'{% assign l = l | concat: l %}'.repeat(9)}`;
const EMPTY = '{% assign e = "" | split: "," %}';

describe('a process survives', () => {
  it.each([
    ['a filter of the text of a long list', `${LONG_LIST}{{ l | replace: "0", "1" | size }}`],
    ['an index that is a long list', `${LONG_LIST}{{ contact[l] }}`],
    ['a cycle named by a long list', `${LONG_LIST}{% cycle l: s, s %}`],
    ['an argument that is a long list', `${LONG_LIST}{{ l | map: l | size }}`],
    ['an index that is a long range', '{% assign r = (1..8000000) %}{{ contact[r] }}'],
    ['a long range', '{% assign r = (1..5000000) %}{{ r | uniq | size }}'],
    [
      'JSON with deep indentation',
      `${EMPTY}{% assign l = e %}${'{% assign l = e | push: l %}'.repeat(7_900)}{{ l | json: 10 | size }}`,
    ],
  ])('%s', async (_what, template) => {
    expect(await renderAlone(template)).toEqual({ status: 0, output: 'RenderError' });
  });

  it('filters of lists of a usual size', async () => {
    const template = '{% assign names = products | map: "name" | sort %}{{ names | join: ", " }}';
    const products = ['pen', 'ink'].map((name) => ({ name }));
    expect(await renderAlone(template, { products })).toEqual({ status: 0, output: 'ink, pen' });
  });
});
