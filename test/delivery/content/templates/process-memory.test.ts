// No content can make V8 end the process for lack of memory.
/**
 * Contents that allocate so much memory at once that V8 would end the whole process, not only the thread. Each runs in
 * a separate process, so that a crash fails only its own test.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import type { Alone } from './content-alone.ts';

const PROGRAM = new URL('./content-alone.ts', import.meta.url);

/** @returns the exit status, and the name of the error, a problem, or the rendered text */
async function workAlone(input: Alone): Promise<unknown> {
  const child = spawn(process.execPath, [PROGRAM.pathname], { stdio: ['pipe', 'pipe', 'ignore'] });
  const exited = once(child, 'exit');
  child.stdin.end(JSON.stringify(input));
  const [output, [status]] = await Promise.all([text(child.stdout), exited]);
  return { status, output };
}

const renderAlone = (template: string, variables: object = {}) => workAlone({ template, variables });

const section = (inside: string) => `<mj-section><mj-column>${inside}</mj-column></mj-section>`;
const mjml = (head: string, body: string) =>
  `<mjml><mj-head>${head}</mj-head><mj-body>${body}</mj-body></mjml>`;
const attributes = (inside: string) => `<mj-attributes>${inside}</mj-attributes>`;

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

  it('filters of lists of ordinary size', async () => {
    const template = '{% assign names = products | map: "name" | sort %}{{ names | join: ", " }}';
    const products = ['pen', 'ink'].map((name) => ({ name }));
    expect(await renderAlone(template, { products })).toEqual({ status: 0, output: 'ink, pen' });
  });

  it.each([
    [
      'an attribute of all elements',
      mjml(
        attributes(`<mj-all css-class="${'x'.repeat(200_000)}" />`),
        section('<mj-text>x</mj-text>'.repeat(2_000)),
      ),
    ],
    [
      'an attribute of a class',
      mjml(
        attributes(`<mj-class name="z" font-family="${'x'.repeat(400_000)}" />`),
        section('<mj-text mj-class="z">x</mj-text>'.repeat(1_000)),
      ),
    ],
    [
      'an attribute of an element for those in it',
      mjml(
        '',
        section(
          `<mj-navbar base-url="${'x'.repeat(100_000)}">${'<mj-navbar-link href="x">x</mj-navbar-link>'.repeat(5_000)}</mj-navbar>`,
        ),
      ),
    ],
  ])('MJML with %s', async (_what, text) => {
    expect(await workAlone({ mjml: text })).toEqual({
      status: 0,
      output: 'long attributes are copied into too many elements',
    });
  });

  it.each([
    [
      'a carousel of many images',
      section(`<mj-carousel>${'<mj-carousel-image src="x" />'.repeat(15_000)}</mj-carousel>`),
      'there are more than 10,000 elements',
    ],
    [
      'a carousel of more images than its styles allow',
      section(`<mj-carousel>${'<mj-carousel-image src="x" />'.repeat(9_000)}</mj-carousel>`),
      'carousels have more than 100 images',
    ],
  ])('MJML with %s', async (_what, body, problem) => {
    expect(await workAlone({ mjml: mjml('', body) })).toEqual({ status: 0, output: problem });
  });

  it("a design that repeats its brand's long links", async () => {
    const sections = Array.from({ length: 100 }, () => ({ type: 'social', props: {} }));
    const url = `https://x.example/${"'".repeat(1_980)}`;
    const links = Array.from({ length: 50 }, () => ({ url, icon: '', title: '' }));
    expect(await workAlone({ design: { sections }, links })).toEqual({
      status: 0,
      output: 'the content is longer than 4 MB',
    });
  });

  it('MJML with long images, of which nothing is copied', async () => {
    const image = `<mj-image src="https://example.com/${'x'.repeat(100_000)}" />`;
    const sections = section(`${image}<mj-text>x</mj-text>`).repeat(10);
    const head = attributes('<mj-all font-family="Arial, sans-serif" />');
    expect(await workAlone({ mjml: mjml(head, sections) })).toEqual({ status: 0, output: '' });
  });
});
