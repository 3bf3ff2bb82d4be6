/** Compiles contents of campaigns and flows between transactions, never inside one, because that may take seconds. */
import type { ContentEngine, ContentSource } from '../../delivery/content/templates/content.ts';
import { AppError } from '../../errors.ts';
import { fingerprintOf } from '../../platform/db/idempotency.ts';
import { NotPreparedError } from '../../platform/db/queryable.ts';
import { fromEngine } from './compile.ts';

type Compiled = Awaited<ReturnType<ContentEngine['compile']>>;

interface Missing {
  source: ContentSource;
  accountId: number;
}

/** The contents that a request has compiled so far. */
export interface CompiledContents {
  /** Returns without waiting. A source that is not compiled yet has no content, and then {@link requireAll} throws. */
  compile(source: ContentSource, accountId: number): Promise<Compiled>;
  /**
   * Call it after all contents were requested.
   * @throws NotPreparedError, which rolls the transaction back and compiles what is missing; AppError unavailable;
   *   conflict if other requests change the contents again and again
   */
  requireAll(): void;
}

/**
 * Maximum number of runs of the transaction. One finds the content of a campaign or flow, and one its variants. The
 * others allow for changes by other requests.
 */
const MAX_RUNS = 6;

/** For a transaction of `inPreparedTransaction`, which runs until all contents that it needs are compiled. */
export function createCompiledContents(contents: Pick<ContentEngine, 'compile'>): CompiledContents {
  const known = new Map<string, Compiled>();
  const keyOf = (source: ContentSource) => fingerprintOf(source).toString('base64');
  let missing: Missing[] = [];
  let runs = 0;
  async function compileMissing(): Promise<void> {
    for (const { source, accountId } of missing) {
      known.set(keyOf(source), await fromEngine(contents.compile(source, accountId)));
    }
    missing = [];
  }
  return {
    compile(source, accountId) {
      const found = known.get(keyOf(source));
      if (!found) missing.push({ source, accountId });
      return Promise.resolve(found ?? { content: null, problems: [] });
    },
    requireAll() {
      if (missing.length === 0) return;
      runs += 1;
      if (runs < MAX_RUNS) throw new NotPreparedError(compileMissing);
      throw new AppError('conflict', 'other requests are changing the content; try again');
    },
  };
}
