// Even the HTML that takes longest never holds up the process, and one account does not keep others waiting.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, describe, expect, it } from '@jest/globals';
import { createHtmlSanitizer } from '../../../../../src/features/inbox/conversations/html/sanitizer.ts';

const sanitizer = createHtmlSanitizer();
afterAll(() => sanitizer.close());

const none = new Map<string, string>();
const styled = '<p style="color:red;margin:0 auto;border:1px solid #eee">x</p>';
const heavy = styled.repeat(Math.floor((512 * 1024) / styled.length));
const hostile = `<p style="${'color:rgb(1 '.repeat(40_000)}">x</p>${'<p style="a:b">'.repeat(900)}`;

describe('the sanitizer', () => {
  it.each([
    ['heavy', heavy],
    ['hostile', hostile],
    ['with gaps', `<p style="color:rgb(1${' '.repeat(500_000)}x)">x</p>`],
    ['with words', `<p style="border:${'solid '.repeat(80_000)}">x</p>`],
  ])('does not hold up the process for %s HTML', async (_what, html) => {
    await sanitizer.sanitize(1, '<p>warm</p>', none);
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    expect(await sanitizer.sanitize(1, html, none)).toContain('x');
    delay.disable();
    // In nanoseconds. Another program may take the processor for a while.
    expect(delay.percentile(90)).toBeLessThan(50e6);
  });

  it('refuses more of an account than may wait, and still serves others', async () => {
    const own = Array.from({ length: 30 }, () => sanitizer.sanitize(1, heavy, none));
    const settled = Promise.allSettled(own);
    expect(await sanitizer.sanitize(2, '<b onclick="x">y</b>', none)).toBe('<b>y</b>');
    const refused = (await settled).filter(({ status }) => status === 'rejected');
    expect(refused.map((each) => (each as PromiseRejectedResult).reason)).toEqual(
      refused.map(() => expect.objectContaining({ code: 'rate_limited' })),
    );
    expect(refused.length).toBeGreaterThanOrEqual(9);
  });
});
