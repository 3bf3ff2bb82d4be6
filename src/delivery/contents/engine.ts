/** The content engine: compiles, checks and renders templates. What an author wrote is only read in threads. */
import {
  createThreadPool,
  ThreadLostError,
  ThreadTimeoutError,
  ThreadUnavailableError,
} from '../../platform/processes/thread-pool.ts';
import {
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
import type { ContentJob, ContentReply, RenderReply } from './contents-thread.ts';

export interface ContentEngineOptions {
  threads: number;
  /** Ends a thread that has compiled or checked one content for this long. */
  compileMs?: number;
  /** Ends a thread that has rendered one batch for this long. */
  renderMs?: number;
}

const COMPILE_MS = 5_000;
/** A thread ends a slow batch itself before this (see `contents-thread.ts`). */
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

type SendBatch = (
  content: Renderable,
  values: readonly ContentValues[],
) => Promise<{ messages: RenderReply[] }>;

/** Renders in threads. @param send gives a batch to a thread */
function threadRenderer(send: SendBatch) {
  async function renderInThread(
    content: Renderable,
    values: readonly ContentValues[],
  ): Promise<(RenderedContent | RenderError)[]> {
    const { id, subject, html, text } = content;
    try {
      const { messages } = await send({ id, subject, html, text }, values);
      return messages.map(resultOf);
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
  const options = {
    entry: new URL('./contents-thread.ts', import.meta.url),
    threads,
    maxHeapMb: MAX_HEAP_MB,
    limitMs: ({ kind }: ContentJob) => (kind === 'render' ? renderMs : compileMs),
  };
  const pool = createThreadPool<ContentJob, ContentReply>(options);

  async function run<Kind extends ContentJob['kind'], Reply extends ContentReply>(
    job: Extract<ContentJob, { kind: Kind }>,
  ): Promise<Reply> {
    const reply = await pool.run(job);
    if ('failure' in reply) throw new Error(reply.failure);
    return reply as Reply;
  }

  const { renderInThread, renderOneInThread } = threadRenderer((content, values) =>
    run<'render', { messages: RenderReply[] }>({ kind: 'render', content, values }),
  );

  return {
    async compile(source) {
      try {
        return await run<'compile', Awaited<ReturnType<ContentEngine['compile']>>>({
          kind: 'compile',
          source,
        });
      } catch (error) {
        return { content: null, problems: [tooSlow(source, error)] };
      }
    },
    async check(source, known) {
      try {
        const { problems } = await run<'check', { problems: Problem[] }>({ kind: 'check', source, known });
        return problems;
      } catch (error) {
        return [tooSlow(source, error)];
      }
    },
    render: (content, values) => renderer.render(content, values) ?? renderOneInThread(content, values),
    renderBatch(content, values) {
      const first = values[0];
      if (first === undefined) return [];
      if (!renderer.canRender(content)) return renderInThread(content, values);
      return values.map((each) => {
        try {
          return renderer.render(content, each) as RenderedContent;
        } catch (error) {
          if (error instanceof RenderError) return error;
          throw error;
        }
      });
    },
    divide: (content) => renderer.divide(content),
    close: () => pool.close(),
  };
}
