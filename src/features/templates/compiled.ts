/** Contents of campaigns and flows are compiled between transactions, never inside one: that takes up to seconds. */
import type { ContentEngine, ContentSource } from '../../delivery/contents/content.ts';
import { AppError } from '../../errors.ts';
import { fingerprintOf } from '../../platform/db/idempotency.ts';
import { fromEngine } from './compile.ts';

type Compiled = Awaited<ReturnType<ContentEngine['compile']>>;

interface Missing {
  source: ContentSource;
  accountId: number;
}

/** What a transaction needed and did not have. It is rolled back, and runs again. */
class NotCompiledError extends Error {
  readonly sources: readonly Missing[];

  constructor(sources: readonly Missing[]) {
    super('contents are not compiled yet');
    this.sources = sources;
  }
}

/** The contents that a request has compiled so far. */
export interface CompiledContents {
  /** Never waits. What is not compiled yet has no content, and {@link requireAll} then throws. */
  compile(source: ContentSource, accountId: number): Promise<Compiled>;
  /** Call it when all contents were asked for. @throws NotCompiledError, which rolls the transaction back */
  requireAll(): void;
}

/** A run finds the content of a campaign or flow, another one its variants. The others are for changes by other requests. */
const MAX_RUNS = 6;

/**
 * Runs a transaction until all contents that it needs are compiled. What is missing is compiled after its rollback.
 * @param run the whole transaction; it may run several times
 * @throws AppError unavailable; conflict if other requests change the contents again and again
 */
export async function withCompiled<T>(
  { templates }: { templates: { contents: Pick<ContentEngine, 'compile'> } },
  run: (compiled: CompiledContents) => Promise<T>,
): Promise<T> {
  const known = new Map<string, Compiled>();
  const keyOf = (source: ContentSource) => fingerprintOf(source).toString('base64');
  for (let runs = 0; runs < MAX_RUNS; runs += 1) {
    const missing: Missing[] = [];
    try {
      return await run({
        compile(source, accountId) {
          const found = known.get(keyOf(source));
          if (!found) missing.push({ source, accountId });
          return Promise.resolve(found ?? { content: null, problems: [] });
        },
        requireAll() {
          if (missing.length > 0) throw new NotCompiledError(missing);
        },
      });
    } catch (error) {
      if (!(error instanceof NotCompiledError)) throw error;
      for (const { source, accountId } of error.sources) {
        known.set(keyOf(source), await fromEngine(templates.contents.compile(source, accountId)));
      }
    }
  }
  throw new AppError('conflict', 'the content is being changed by others; try again');
}
