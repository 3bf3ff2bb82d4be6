/**
 * The thread that compiles and checks contents, one after another (see `engine.ts`). It loads MJML before it reports
 * that it is ready, so that loading does not count against a content's time limit.
 */
import { parentPort } from 'node:worker_threads';
import { checkContent } from './check.ts';
import { compileContent } from './compile.ts';
import type { CompiledContent, ContentSource, Problem } from './content.ts';

export interface CompileJob {
  source: ContentSource;
  /** For a check: names of the template's variables that have a value. Null: compile the content instead. */
  known: readonly string[] | null;
}

export type CompileReply =
  | { content: CompiledContent | null; problems: Problem[] }
  /** Not the content's fault. */
  | { failure: string };

async function work({ source, known }: CompileJob): Promise<CompileReply> {
  if (known) return { content: null, problems: await checkContent(source, known) };
  const { content, problems } = await compileContent(source);
  return { content, problems };
}

async function reply(job: CompileJob): Promise<void> {
  const answer = await work(job).catch((error: unknown) => ({ failure: (error as Error).message }));
  parentPort?.postMessage(answer);
}

parentPort?.on('message', (job: CompileJob) => void reply(job));
parentPort?.postMessage('ready');
