/** The thread that renders contents, one batch after another (see `engine.ts`). */
import { parentPort } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { type ContentValues, type Renderable, type RenderedContent, RenderTimeoutError } from './content.ts';
import { withoutEmptyBrackets } from './filters.ts';
import { type ParsedLiquid, parseLiquid, renderLiquid } from './liquid.ts';
import { enforceUrls } from './urls.ts';
import { headerText } from './values.ts';

/** A batch of messages of one content. */
export interface RenderJob {
  content: ThreadContent;
  values: readonly ContentValues[];
  /** Shared memory to which the thread writes the index of the message that it is rendering, in case it is ended. */
  progress: Int32Array;
}

type ThreadContent = Omit<Renderable, 'accountId'>;

/**
 * The rendered content, or the error's message. `slow`: it took too long. `not_rendered`: other messages used up the
 * time.
 */
export type RenderReply =
  { rendered: RenderedContent } | { error: string; reason: 'content' | 'slow' | 'not_rendered' };

interface ParsedContent {
  subject: ParsedLiquid | null;
  html: ParsedLiquid | null;
  text: ParsedLiquid | null;
}

/** Maximum number of characters of the parsed versions that a thread caches. */
const MAX_PARSED = 8 * 1024 * 1024;
/** Maximum time for a batch, in ms. The messages that are left go into another batch. */
const BATCH_MS = 5_000;
/**
 * Maximum number of characters of a batch. The messages that are left go into another batch. A batch is copied to the
 * main thread in one piece, which blocks that thread and needs several times its size in memory.
 */
const BATCH_CHARACTERS = 16 * 1024 * 1024;

const parsedVersions = new LRUCache<number, { parsed: ParsedContent; length: number }>({
  maxSize: MAX_PARSED,
  sizeCalculation: ({ length }) => length,
});

function parse({ id, subject, html, text }: ThreadContent): ParsedContent {
  const known = id === null ? undefined : parsedVersions.get(id);
  if (known) return known.parsed;
  const parsed = {
    subject: subject === null ? null : parseLiquid(subject, 'header'),
    html: html === null ? null : parseLiquid(html, 'html'),
    text: text === null ? null : parseLiquid(withoutEmptyBrackets(text), 'text'),
  };
  const length = (html?.length ?? 0) + (text?.length ?? 0) + 1;
  if (id !== null) parsedVersions.set(id, { parsed, length });
  return parsed;
}

/** The names of a template. Carillon's take precedence over its variables. */
function scopeOf({ variables, ...own }: ContentValues): object {
  return Object.assign(Object.create(null) as object, variables, { event: null }, own);
}

/** Removes the empty lines that conditions leave behind. */
function withoutGaps(text: string): string {
  const lines = text.split('\n').map((line) => (line.trim() === '' ? '' : line));
  return lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

function render(parsed: ParsedContent, values: ContentValues): RenderedContent {
  const scope = scopeOf(values);
  return {
    subject: parsed.subject && headerText(renderLiquid(parsed.subject, scope)),
    html: parsed.html && enforceUrls(renderLiquid(parsed.html, scope)),
    text: parsed.text && withoutGaps(renderLiquid(parsed.text, scope)),
  };
}

const failureOf = (error: unknown): RenderReply => ({
  error: (error as Error).message,
  reason: error instanceof RenderTimeoutError ? 'slow' : 'content',
});

function renderAll({ content, values, progress }: RenderJob): RenderReply[] {
  let parsed: ParsedContent;
  try {
    parsed = parse(content);
  } catch (error) {
    return values.map(() => failureOf(error));
  }
  const end = performance.now() + BATCH_MS;
  let characters = 0;
  return values.map((each, n) => {
    // The first message is always rendered, so that each batch makes progress.
    if (n > 0 && performance.now() > end) {
      return { error: 'other messages took too long to render', reason: 'not_rendered' };
    }
    if (characters > BATCH_CHARACTERS) {
      return { error: 'other messages of the batch are too long', reason: 'not_rendered' };
    }
    Atomics.store(progress, 0, n);
    try {
      const rendered = render(parsed, each);
      characters += (rendered.html?.length ?? 0) + (rendered.text?.length ?? 0);
      return { rendered };
    } catch (error) {
      return failureOf(error);
    }
  });
}

parentPort?.on('message', (job: RenderJob) => parentPort?.postMessage(renderAll(job)));
parentPort?.postMessage('ready');
