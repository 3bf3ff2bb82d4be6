// Threads prepare the same bytes as the event loop, and a content that crashes its thread does not affect others.
import { afterEach, describe, expect, it } from '@jest/globals';
import { InvalidMessageError } from '../../../../src/delivery/content/mime/header-fields.ts';
import { type EmailContent, prepareContent } from '../../../../src/delivery/content/mime/message.ts';
import {
  createPreparePool,
  type PreparePool,
  type PreparePoolOptions,
  PrepareTimeoutError,
} from '../../../../src/delivery/content/mime/prepare-pool.ts';
import { ThreadUnavailableError } from '../../../../src/platform/processes/thread-pool.ts';

const from = {
  name: 'Ädä',
  address: 'ä@b.example',
  local: 'ä',
  domain: 'b.example',
  key: '',
  smtpUtf8: true,
};
const content: EmailContent = { subject: 'Hi', html: null, text: 'x', from, replyTo: null, headers: {} };

let pool: PreparePool;
const open = (options?: PreparePoolOptions) => (pool = createPreparePool(options));
afterEach(() => pool.close());

describe('the pool of threads', () => {
  it('prepares the same bytes as the event loop does', async () => {
    open();
    const contents = [
      { ...content, html: '<p>Grüße 🎉</p>'.repeat(20_000), text: null },
      { ...content, text: 'wörd '.repeat(50_000), headers: { 'X-A': 'ü'.repeat(5_000) } },
      { ...content, replyTo: from, html: '<b>', text: '' },
    ];
    const prepared = await Promise.all(contents.map(pool.prepare));
    for (const [index, each] of contents.entries()) {
      const here = prepareContent(each);
      const there = prepared[index];
      expect(there?.opening).toBe(here.opening);
      expect(there?.smtpUtf8).toBe(here.smtpUtf8);
      expect(there && Buffer.compare(there.remainder, here.remainder)).toBe(0);
      expect(there?.signed()).toEqual(here.signed());
    }
  });

  it('refuses a content that cannot become an email, as the event loop does', async () => {
    open();
    const preparing = pool.prepare({ ...content, headers: { 'X-A': 'a\r\nBcc: b@c.example' } });
    await expect(preparing).rejects.toThrow('header X-A contains a line break');
    await expect(preparing).rejects.toBeInstanceOf(InvalidMessageError);
  });

  const stuckThread = new URL('../../../support/stuck-thread.ts', import.meta.url);

  it.each([
    ['exceeds the time limit', 'stuck', 'takes longer than 2000 ms', PrepareTimeoutError],
    ['ends', 'crash', 'the thread ended with 3', InvalidMessageError],
  ])('ends a thread that %s, refuses its content and continues', async (_what, subject, reason, type) => {
    open({ threads: 1, limitMs: 2_000, entry: stuckThread });
    const refused = pool.prepare({ ...content, subject });
    const others = ['a', 'b'].map((other) => pool.prepare({ ...content, subject: other }));
    await expect(refused).rejects.toThrow(reason);
    await expect(refused).rejects.toBeInstanceOf(type);
    expect((await Promise.all(others)).map(({ opening }) => opening)).toEqual(['a', 'b']);
  });

  it('does not blame the content if no thread starts', async () => {
    open({ entry: new URL('../../mime/no-such-file.ts', import.meta.url) });
    await expect(pool.prepare(content)).rejects.toBeInstanceOf(ThreadUnavailableError);
  });

  it('rejects pending contents when it is closed', async () => {
    open({ threads: 1, entry: stuckThread });
    const waiting = ['stuck', 'a'].map((subject) => pool.prepare({ ...content, subject }));
    const ended = Promise.allSettled(waiting);
    await pool.close();
    expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  it('keeps the work off the event loop', async () => {
    open();
    await pool.prepare(content);
    const heavy = { ...content, html: '<p>wörd </p>'.repeat(9_000), text: null };
    const cpuMs = () => {
      const { user, system } = process.threadCpuUsage();
      return (user + system) / 1_000;
    };
    prepareContent(heavy);
    const start = cpuMs();
    prepareContent(heavy).signed();
    const here = cpuMs() - start;
    // Garbage collection may interrupt one of them.
    const there: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const before = cpuMs();
      await pool.prepare(heavy);
      there.push(cpuMs() - before);
    }
    expect(Math.min(...there)).toBeLessThan(here / 3);
  });
});
