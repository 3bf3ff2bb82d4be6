// Aborting a job ends its thread at once, and no aborted or refused job harms another.
import { afterEach, describe, expect, it } from '@jest/globals';
import type { ThreadJob, ThreadReply } from '../../../src/features/brands/scrape/page/jobs.ts';
import {
  createThreadPool,
  ThreadLostError,
  type ThreadPool,
} from '../../../src/platform/processes/thread-pool.ts';

const entry = new URL('../../support/stuck-page-thread.ts', import.meta.url);
const job = (text: string): ThreadJob => ({ name: 'robots', text: Buffer.from(text), agent: 'x' });
const LONG_MS = 600_000;

let pool: ThreadPool<ThreadJob, ThreadReply>;
const open = (threads: number) =>
  (pool = createThreadPool({ entry, threads, limitMs: () => LONG_MS, maxHeapMb: 64 }));
afterEach(() => pool.close());

describe('a job with a signal', () => {
  it('ends with its thread when the signal is aborted, and harms no other job', async () => {
    open(2);
    const [first, second] = [new AbortController(), new AbortController()];
    const stuck = [pool.run(job('stuck'), first.signal), pool.run(job('stuck'), second.signal)];
    const ended = Promise.allSettled(stuck);
    // Both threads work by the time that a third job has been refused its thread.
    const next = pool.run(job('next'));
    first.abort(new Error('too late'));
    expect(await next).toEqual({ value: [] });
    second.abort(new Error('no longer wanted'));
    expect((await ended).map((each) => each.status === 'rejected' && String(each.reason))).toEqual([
      'Error: too late',
      'Error: no longer wanted',
    ]);
    expect(await Promise.all([pool.run(job('a')), pool.run(job('b'))])).toHaveLength(2);
  });

  it('ends also while it works, and the thread is replaced', async () => {
    open(1);
    await pool.run(job('ready'));
    const over = new AbortController();
    const stuck = pool.run(job('stuck'), over.signal);
    const next = pool.run(job('next'));
    over.abort(new Error('too late'));
    await expect(stuck).rejects.toThrow('too late');
    expect(await next).toEqual({ value: [] });
  });

  it('is not begun once the signal is aborted, before it waits or while it does', async () => {
    open(1);
    const blocking = new AbortController();
    const blocked = pool.run(job('stuck'), blocking.signal);
    const waiting = new AbortController();
    const refused = pool.run(job('stuck'), waiting.signal);
    waiting.abort(new Error('too late'));
    await expect(refused).rejects.toThrow('too late');
    await expect(pool.run(job('stuck'), waiting.signal)).rejects.toThrow('too late');
    blocking.abort(new Error('enough'));
    await expect(blocked).rejects.toThrow('enough');
    // A job that had been begun after all would never let this one begin.
    expect(await pool.run(job('next'))).toEqual({ value: [] });
  });
});

describe('a job that cannot be copied to a thread', () => {
  it('is refused, whether its thread has started or not, and harms no other job', async () => {
    open(1);
    const bad = { ...job('x'), agent: (() => 'x') as unknown as string };
    const [refused, next] = [pool.run(bad), pool.run(job('next'))];
    await expect(refused).rejects.toBeInstanceOf(ThreadLostError);
    expect(await next).toEqual({ value: [] });
    await expect(pool.run(bad)).rejects.toBeInstanceOf(ThreadLostError);
    expect(await pool.run(job('next'))).toEqual({ value: [] });
  });
});
