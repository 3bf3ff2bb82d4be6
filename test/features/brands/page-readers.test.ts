// One account's scrapes never block those of another, and a scrape ends at its deadline.
import { afterEach, describe, expect, it } from '@jest/globals';
import { createPageReaders, type PageReaders } from '../../../src/features/brands/scrape/page/reader.ts';

const entry = new URL('../../support/stuck-page-thread.ts', import.meta.url);
const never = new AbortController().signal;
const robots = (text: string) => ({ text: Buffer.from(text), agent: 'x' });

let readers: PageReaders;
afterEach(() => readers.close());

describe('the threads that read pages', () => {
  it('keep one thread free for other accounts, however much one account reads', async () => {
    readers = createPageReaders({ limitMs: 600_000, entry });
    const over = new AbortController();
    const greedy = readers.open({ accountId: 1, deadline: never, signal: over.signal });
    const flood = Promise.allSettled(
      Array.from({ length: 20 }, () => greedy.read('robots', robots('stuck'))),
    );
    const other = readers.open({ accountId: 2, deadline: never, signal: never });
    expect(await other.read('robots', robots('good'))).toEqual([]);
    expect(await other.read('robots', robots('good'))).toEqual([]);
    over.abort(new Error('enough'));
    expect(new Set((await flood).map(({ status }) => status))).toEqual(new Set(['rejected']));
  });

  it('give up running and waiting jobs when the time of the scrape is over', async () => {
    readers = createPageReaders({ limitMs: 600_000, entry });
    const deadline = new AbortController();
    const late = readers.open({ accountId: 1, deadline: deadline.signal, signal: never });
    const other = readers.open({ accountId: 1, deadline: never, signal: never });
    const reads = [late.read('robots', robots('stuck')), late.read('robots', robots('stuck'))];
    const next = other.read('robots', robots('good'));
    deadline.abort();
    expect(await Promise.all(reads)).toEqual([null, null]);
    expect(await late.read('robots', robots('good'))).toBeNull();
    expect(await next).toEqual([]);
  });

  it('throw the reason why a scrape must end', async () => {
    readers = createPageReaders({ limitMs: 600_000, entry });
    const over = new AbortController();
    const reader = readers.open({ accountId: 1, deadline: never, signal: over.signal });
    const reading = reader.read('robots', robots('stuck'));
    over.abort(new Error('the process stops'));
    await expect(reading).rejects.toThrow('the process stops');
  });
});
