/**
 * Lets many pieces of code that run as promises share their statements. Each asks for itself; once all of them wait,
 * the questions of one kind are answered together.
 */

/** Answers questions of one kind, in their order. */
export type Answer<Question, Reply> = (questions: readonly Question[]) => Promise<readonly Reply[]>;

interface Waiting {
  question: unknown;
  resolve: (reply: unknown) => void;
  reject: (error: unknown) => void;
}

interface Kind {
  rank: number;
  answer: Answer<unknown, unknown>;
  waiting: Waiting[];
}

export class Gathering {
  private readonly kinds: Kind[] = [];
  /** How many pieces of code do not wait for a reply. */
  private running = 0;
  private failure: { error: unknown } | null = null;

  /**
   * Defines a kind of question.
   * @param rank kinds of a lower rank are answered first, so that later ones find more questions
   * @returns a function that asks. Only code that {@link all} runs may call it, and each piece one at a time
   */
  kind<Question, Reply>(
    rank: number,
    answer: Answer<Question, Reply>,
  ): (question: Question) => Promise<Reply> {
    const kind: Kind = { rank, answer: answer as Answer<unknown, unknown>, waiting: [] };
    this.kinds.push(kind);
    this.kinds.sort((one, other) => one.rank - other.rank);
    return (question) =>
      new Promise<Reply>((resolve, reject) => {
        kind.waiting.push({ question, resolve: resolve as (reply: unknown) => void, reject });
        this.pause();
      });
  }

  /**
   * Runs all pieces to their ends.
   * @throws the first error, after all have ended; those that wait for a reply get the same error
   */
  async all<Result>(pieces: readonly (() => Promise<Result>)[]): Promise<Result[]> {
    this.running += pieces.length;
    const results = await Promise.allSettled(pieces.map((piece) => this.run(piece)));
    if (this.failure) throw this.failure.error;
    return results.map((result) => (result as PromiseFulfilledResult<Result>).value);
  }

  private async run<Result>(piece: () => Promise<Result>): Promise<Result> {
    try {
      return await piece();
    } catch (error) {
      this.failure ??= { error };
      throw error;
    } finally {
      this.pause();
    }
  }

  private pause(): void {
    this.running -= 1;
    if (this.running === 0) void this.continue();
  }

  /** Answers the questions of the kind that is first, or ends all code that waits after an error. */
  private async continue(): Promise<void> {
    const kind = this.kinds.find(({ waiting }) => waiting.length > 0);
    if (!kind) return;
    const asked = kind.waiting.splice(0);
    this.running += asked.length;
    try {
      if (this.failure) throw this.failure.error;
      const replies = await kind.answer(asked.map(({ question }) => question));
      for (const [n, { resolve }] of asked.entries()) resolve(replies[n]);
    } catch (error) {
      this.failure ??= { error };
      for (const { reject } of asked) reject(error);
    }
  }
}
