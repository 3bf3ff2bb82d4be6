/** The content engine: compiles, checks and renders templates. What an author wrote is only parsed in threads. */
import { hasHtml } from '../../terms/channels/content-shapes.ts';
import { FairGate } from '../../../platform/processes/fair-gate.ts';
import {
  createThreadPool,
  ThreadLostError,
  ThreadTimeoutError,
  ThreadUnavailableError,
} from '../../../platform/processes/thread-pool.ts';
import {
  type CompiledContent,
  type ContentEngine,
  ContentEngineUnavailableError,
  type ContentSource,
  type ContentValues,
  NotRenderedError,
  type Problem,
  type Renderable,
  RenderError,
  type RenderedContent,
  RenderTimeoutError,
} from './content.ts';
import { createContentRenderer } from './content-renderer.ts';
import { ReadLimit } from './render-outputs.ts';
import type { CompileJob, CompileReply } from './compile-thread.ts';
import type { RenderJob, RenderReply } from './render-thread.ts';

export interface ContentEngineOptions {
  /**
   * Number of threads that compile, and of threads that render. Each is started on demand. One account can occupy all
   * but one of them.
   */
  threads: number;
  /** Maximum number of contents and batches of one account that wait for a thread. Further ones are refused. */
  maxWaiting?: number;
  /** How long a content or batch may wait for a thread before it is refused. */
  waitMs?: number;
  /** How long a thread may compile or check one content before it is ended. */
  compileMs?: number;
  /** How long a thread may render one batch before it is ended. */
  renderMs?: number;
}

const COMPILE_MS = 5_000;
const MAX_WAITING = 20;
const WAIT_MS = 10_000;
/** Longer than the limit at which a thread itself stops a slow batch (see `render-thread.ts`). */
const RENDER_MS = 10_000;
/** MJML itself takes 60 MB, and the tree of a 2 MB body needs the rest. */
const MAX_HEAP_MB = 256;

/** @returns what the loss of a thread says about the content; null if nothing */
function faultOf(error: unknown): string | null {
  if (error instanceof ThreadTimeoutError) return 'the content takes too long';
  if (error instanceof ThreadLostError) return 'the content takes too much memory';
  return null;
}

function rethrow(error: unknown): never {
  if (error instanceof ThreadUnavailableError) {
    throw new ContentEngineUnavailableError(error.message, { cause: error });
  }
  throw error;
}

function resultOf(reply: RenderReply): RenderedContent | RenderError {
  if ('rendered' in reply) return reply.rendered;
  switch (reply.reason) {
    case 'content':
      return new RenderError(reply.error);
    case 'slow':
      return new RenderTimeoutError(reply.error);
    case 'not_rendered':
      return new NotRenderedError(reply.error);
  }
}

type Run<Job, Reply> = (accountId: number, job: Job) => Promise<Reply>;

/** The problem of a content that exhausted its thread's time or memory. */
function tooSlow(source: ContentSource, error: unknown): Problem {
  const fault = faultOf(error);
  if (fault === null) return rethrow(error);
  return {
    field: hasHtml(source.channel) ? source.contentFrom : 'body',
    code: 'too_slow',
    message: `${fault} to compile`,
  };
}

/** Renders in threads. */
function threadRenderer(run: Run<RenderJob, RenderReply[]>) {
  async function renderInThread(
    content: Renderable,
    values: readonly ContentValues[],
  ): Promise<(RenderedContent | RenderError)[]> {
    const { id, subject, html, text, accountId } = content;
    const progress = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    try {
      const replies = await run(accountId, { content: { id, subject, html, text }, values, progress });
      return replies.map(resultOf);
    } catch (error) {
      const fault = faultOf(error);
      if (fault === null) return rethrow(error);
      const blamed = Atomics.load(progress, 0);
      return values.map((_, n) =>
        n === blamed
          ? new RenderTimeoutError(`${fault} to render`)
          : new NotRenderedError('another message of the batch crashed the thread'),
      );
    }
  }

  async function renderOneInThread(content: Renderable, values: ContentValues): Promise<RenderedContent> {
    const [result] = await renderInThread(content, [values]);
    if (result === undefined || result instanceof RenderError)
      throw result ?? new RenderError('nothing was rendered');
    return result;
  }

  return { renderInThread, renderOneInThread };
}

/** Opens the threads. Accounts take turns, so that one with much work does not hold up the others. */
function openThreads({
  threads,
  compileMs = COMPILE_MS,
  renderMs = RENDER_MS,
  maxWaiting = MAX_WAITING,
  waitMs = WAIT_MS,
}: ContentEngineOptions) {
  const compilers = createThreadPool<CompileJob, CompileReply>({
    entry: new URL('./compile-thread.ts', import.meta.url),
    threads,
    maxHeapMb: MAX_HEAP_MB,
    limitMs: () => compileMs,
  });
  const renderers = createThreadPool<RenderJob, RenderReply[]>({
    entry: new URL('./render-thread.ts', import.meta.url),
    threads,
    maxHeapMb: MAX_HEAP_MB,
    limitMs: () => renderMs,
  });
  const limits = {
    slots: threads,
    perKey: Math.max(1, threads - 1),
    maxWaiting,
    waitMs,
    refusal: () =>
      new ContentEngineUnavailableError('too many contents of the account are waiting for a thread'),
  };
  const compiling = new FairGate(limits);
  const rendering = new FairGate(limits);
  const closing = new AbortController();
  const { signal } = closing;
  const runCompile: Run<CompileJob, CompileReply> = (accountId, job) =>
    compiling.run(accountId, () => compilers.run(job), { signal });
  const runRender: Run<RenderJob, RenderReply[]> = (accountId, job) =>
    rendering.run(accountId, () => renderers.run(job), { signal });
  return {
    runCompile,
    runRender,
    async close() {
      closing.abort(new ContentEngineUnavailableError('the process is stopping'));
      await Promise.all([compilers.close(), renderers.close()]);
    },
  };
}

export function createContentEngine(options: ContentEngineOptions): ContentEngine {
  const renderer = createContentRenderer();
  const { runCompile, runRender, close } = openThreads(options);
  const { renderInThread, renderOneInThread } = threadRenderer(runRender);

  async function compile(
    job: CompileJob,
    accountId: number,
  ): Promise<{ content: CompiledContent | null; problems: Problem[] }> {
    const reply = await runCompile(accountId, job).catch((error: unknown) => ({
      content: null,
      problems: [tooSlow(job.source, error)],
    }));
    if ('failure' in reply) throw new Error(reply.failure);
    return reply;
  }

  function renderHere(
    content: Renderable,
    values: ContentValues,
    limit: ReadLimit,
  ): RenderedContent | RenderError | null {
    try {
      return renderer.render(content, values, limit);
    } catch (error) {
      if (error instanceof RenderError) return error;
      throw error;
    }
  }

  return {
    compile: (source, accountId) => compile({ source, known: null }, accountId),
    check: async (source, known, accountId) => (await compile({ source, known }, accountId)).problems,
    render: (content, values) => renderer.render(content, values) ?? renderOneInThread(content, values),
    renderBatch(content, values) {
      const first = values[0];
      if (first === undefined) return [];
      if (!renderer.canRender(content)) return renderInThread(content, values);
      // They share one limit, so that a batch blocks the event loop no longer than one message may.
      const limit = new ReadLimit();
      const results = values.map((each) => renderHere(content, each, limit));
      const left = values.filter((_, n) => results[n] === null);
      if (left.length === 0) return results as (RenderedContent | RenderError)[];
      return renderInThread(content, left).then((rest) =>
        results.map((result) => result ?? rest.shift() ?? new RenderError('nothing was rendered')),
      );
    },
    divide: (content) => renderer.divide(content),
    close,
  };
}
