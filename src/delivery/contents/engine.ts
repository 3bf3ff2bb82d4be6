/** The content engine: compiles, checks and renders templates. What an author wrote is only read in threads. */
import {
  createThreadPool,
  type ThreadPool,
  ThreadLostError,
  ThreadTimeoutError,
  ThreadUnavailableError,
} from '../../platform/processes/thread-pool.ts';
import {
  type CompiledContent,
  type ContentEngine,
  ContentEngineUnavailableError,
  type ContentSource,
  type ContentValues,
  type Problem,
  type Renderable,
  RenderError,
  type RenderedContent,
} from './content.ts';
import { createContentRenderer } from './content-renderer.ts';
import type { CompileJob, CompileReply } from './compile-thread.ts';
import type { RenderJob, RenderReply } from './render-thread.ts';

export interface ContentEngineOptions {
  /** Threads that compile, and as many that render. Each is started when it is needed. */
  threads: number;
  /** Ends a thread that has compiled or checked one content for this long. */
  compileMs?: number;
  /** Ends a thread that has rendered one batch for this long. */
  renderMs?: number;
}

const COMPILE_MS = 5_000;
/** A thread ends a slow batch itself before this (see `render-thread.ts`). */
const RENDER_MS = 10_000;
/** MJML takes 60 MB, and a body of 2 MB becomes a tree. */
const MAX_HEAP_MB = 256;

/** What the loss of a thread says about the content; null: nothing. */
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

const resultOf = (reply: RenderReply): RenderedContent | RenderError =>
  'rendered' in reply ? reply.rendered : new RenderError(reply.error);

/** A content that a thread was lost for is reported as its problem. */
function tooSlow(source: ContentSource, error: unknown): Problem {
  const fault = faultOf(error);
  if (fault === null) return rethrow(error);
  return {
    field: source.channel === 'sms' ? 'body' : source.contentFrom,
    code: 'too_slow',
    message: `${fault} to compile`,
  };
}

/** Renders in threads. */
function threadRenderer(pool: ThreadPool<RenderJob, RenderReply[]>) {
  async function renderInThread(
    content: Renderable,
    values: readonly ContentValues[],
  ): Promise<(RenderedContent | RenderError)[]> {
    const { id, subject, html, text } = content;
    try {
      const replies = await pool.run({ content: { id, subject, html, text }, values });
      return replies.map(resultOf);
    } catch (error) {
      const fault = faultOf(error);
      if (fault === null) return rethrow(error);
      return values.map(() => new RenderError(`${fault} to render`));
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

export function createContentEngine({
  threads,
  compileMs = COMPILE_MS,
  renderMs = RENDER_MS,
}: ContentEngineOptions): ContentEngine {
  const renderer = createContentRenderer();
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
  const { renderInThread, renderOneInThread } = threadRenderer(renderers);

  async function compile(job: CompileJob): Promise<{ content: CompiledContent | null; problems: Problem[] }> {
    const reply = await compilers.run(job).catch((error: unknown) => ({
      content: null,
      problems: [tooSlow(job.source, error)],
    }));
    if ('failure' in reply) throw new Error(reply.failure);
    return reply;
  }

  function renderHere(content: Renderable, values: ContentValues): RenderedContent | RenderError | null {
    try {
      return renderer.render(content, values);
    } catch (error) {
      if (error instanceof RenderError) return error;
      throw error;
    }
  }

  return {
    compile: (source) => compile({ source, known: null }),
    check: async (source, known) => (await compile({ source, known })).problems,
    render: (content, values) => renderer.render(content, values) ?? renderOneInThread(content, values),
    renderBatch(content, values) {
      const first = values[0];
      if (first === undefined) return [];
      if (!renderer.canRender(content)) return renderInThread(content, values);
      const results = values.map((each) => renderHere(content, each));
      const left = values.filter((_, n) => results[n] === null);
      if (left.length === 0) return results as (RenderedContent | RenderError)[];
      return renderInThread(content, left).then((rest) =>
        results.map((result) => result ?? rest.shift() ?? new RenderError('nothing was rendered')),
      );
    },
    divide: (content) => renderer.divide(content),
    close: async () => {
      await Promise.all([compilers.close(), renderers.close()]);
    },
  };
}
