/** A gate beside a model of it: each begin, refusal and end is compared with what the model allows. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { getEventListeners } from 'node:events';
import { jest } from '@jest/globals';
import fc from 'fast-check';

export interface Limits {
  slots: number;
  perKey: number;
  maxWaiting: number;
  waitMs: number;
}

export type Run = (key: number, work: () => Promise<string>, signal: AbortSignal) => Promise<string>;

/** What happens to the work. `nth` picks among the work that it can happen to. */
export type Action =
  | { do: 'start'; key: number; throws: boolean }
  | { do: 'end'; nth: number; fails: boolean }
  | { do: 'abort'; nth: number }
  | { do: 'pass'; ms: number };

interface Job {
  key: number;
  /** Throws before it returns a promise. */
  throws: boolean;
  state: 'waiting' | 'running' | 'over';
  since: number;
  abort: AbortController;
  end: PromiseWithResolvers<string>;
  /** What the caller must get; null: not yet decided. */
  expected: string | null;
  got: string | null;
}

const nat = fc.nat({ max: 20 });
const key = fc.integer({ min: 1, max: 4 });
export const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('start'), key, throws: fc.constant(false) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('start'), key, throws: fc.constant(true) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('end'), nth: nat, fails: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('abort'), nth: nat }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass'), ms: fc.integer({ min: 1, max: 60 }) }) },
);
export const limits: fc.Arbitrary<Limits> = fc.record({
  slots: fc.integer({ min: 1, max: 5 }),
  perKey: fc.integer({ min: 1, max: 4 }),
  maxWaiting: fc.integer({ min: 0, max: 4 }),
  waitMs: fc.constant(100),
});

export const REFUSED = 'refused';
const STOPPED = 'stopped';
const FAILED = 'failed';
const ENDED = 'ended';

export class GateModel {
  readonly problems: string[] = [];
  readonly #jobs: Job[] = [];
  /** Keys with work, the one served longest ago first. */
  #order: number[] = [];
  readonly #limits: Limits;
  readonly #run: Run;
  readonly #caller = new AsyncLocalStorage<Job>();
  #now = 0;

  constructor(limits: Limits, run: Run) {
    this.#limits = limits;
    this.#run = run;
  }

  async do(action: Action): Promise<void> {
    switch (action.do) {
      case 'start':
        this.#start(action.key, action.throws);
        break;
      case 'end':
        this.#end(this.#pick(['running'], action.nth), action.fails);
        break;
      case 'abort':
        this.#abort(this.#pick(['waiting', 'running'], action.nth));
        break;
      case 'pass':
        this.#pass(action.ms);
    }
    await this.#settle();
  }

  /** Ends all work, and finds out whether as much can begin as at first, and nothing is left behind. */
  async finish(): Promise<void> {
    while (this.#in('running').length > 0) await this.do({ do: 'end', nth: 0, fails: false });
    if (this.#in('waiting').length > 0) this.problems.push('work waits although nothing runs');
    for (let n = 0; n < this.#limits.slots; n += 1)
      await this.do({ do: 'start', key: 100 + n, throws: false });
    if (this.#in('running').length !== this.#limits.slots) this.problems.push('a slot is lost');
    while (this.#in('running').length > 0) await this.do({ do: 'end', nth: 0, fails: false });
    if (jest.getTimerCount() > 0) this.problems.push('a timer is left');
    const listening = this.#jobs.some(({ abort }) => getEventListeners(abort.signal, 'abort').length > 0);
    if (listening) this.problems.push('a listener is left');
  }

  #in(state: Job['state'], ofKey?: number): Job[] {
    return this.#jobs.filter((job) => job.state === state && (ofKey === undefined || job.key === ofKey));
  }

  #pick(states: readonly Job['state'][], nth: number): Job | undefined {
    const found = this.#jobs.filter(({ state }) => states.includes(state));
    return found[nth % Math.max(1, found.length)];
  }

  #isFree(ofKey: number): boolean {
    const { slots, perKey } = this.#limits;
    return this.#in('running').length < slots && this.#in('running', ofKey).length < perKey;
  }

  #start(ofKey: number, throws: boolean): void {
    const abort = new AbortController();
    const end = Promise.withResolvers<string>();
    const job: Job = {
      key: ofKey,
      throws,
      state: 'waiting',
      since: this.#now,
      abort,
      end,
      expected: null,
      got: null,
    };
    const mustBegin = this.#isFree(ofKey);
    const isRefused = !mustBegin && this.#in('waiting', ofKey).length >= this.#limits.maxWaiting;
    if (isRefused) [job.state, job.expected] = ['over', REFUSED];
    else if (!this.#order.includes(ofKey)) this.#order.push(ofKey);
    this.#jobs.push(job);
    void this.#caller
      .run(job, () => this.#run(ofKey, () => this.#begin(job), abort.signal))
      .catch((error: unknown) => (error as Error).message)
      .then((got) => (job.got = got));
    if (mustBegin && job.state === 'waiting') this.problems.push('a free slot is not taken at once');
  }

  #begin(job: Job): Promise<string> {
    if (job.state !== 'waiting') this.problems.push(`work begins that is ${job.state}`);
    if (!this.#isFree(job.key)) this.problems.push('more work runs than may');
    if (this.#in('waiting', job.key)[0] !== job) this.problems.push('later work of a key goes first');
    if (this.#caller.getStore() !== job) this.problems.push('work does not run in the context of its caller');
    this.#checkTurn(job.key);
    this.#order = [...this.#order.filter((each) => each !== job.key), job.key];
    job.state = 'running';
    if (!job.throws) return job.end.promise;
    job.expected = FAILED;
    job.state = 'over';
    this.#forgetIdle(job.key);
    throw new Error(FAILED);
  }

  /** Of those that may begin: the key with the least work under way, and of these the one served longest ago. */
  #checkTurn(ofKey: number): void {
    const mayBegin = this.#order.filter((each) => this.#in('waiting', each).length > 0 && this.#isFree(each));
    const runs = (each: number) => this.#in('running', each).length;
    const least = Math.min(...mayBegin.map(runs));
    if (runs(ofKey) > least) this.problems.push('a key with more work under way goes first');
    else if (mayBegin.find((each) => runs(each) === least) !== ofKey)
      this.problems.push('a key goes first out of turn');
  }

  #forgetIdle(ofKey: number): void {
    const isIdle = this.#in('running', ofKey).length + this.#in('waiting', ofKey).length === 0;
    if (isIdle) this.#order = this.#order.filter((each) => each !== ofKey);
  }

  #over(job: Job, expected: string): void {
    [job.state, job.expected] = ['over', expected];
    this.#forgetIdle(job.key);
  }

  #end(job: Job | undefined, fails: boolean): void {
    if (!job) return;
    this.#over(job, fails ? FAILED : ENDED);
    if (fails) job.end.reject(new Error(FAILED));
    else job.end.resolve(ENDED);
  }

  #abort(job: Job | undefined): void {
    if (job?.state === 'waiting') this.#over(job, STOPPED);
    job?.abort.abort(new Error(STOPPED));
  }

  #pass(ms: number): void {
    this.#now += ms;
    for (const job of this.#in('waiting')) {
      if (this.#now - job.since >= this.#limits.waitMs) this.#over(job, REFUSED);
    }
    jest.advanceTimersByTime(ms);
  }

  async #settle(): Promise<void> {
    await new Promise(setImmediate);
    if (this.#order.some((each) => this.#in('waiting', each).length > 0 && this.#isFree(each))) {
      this.problems.push('work waits although a slot is free');
    }
    for (const { expected, got } of this.#jobs) {
      if (expected !== got) this.problems.push(`the caller gets ${String(got)} and not ${String(expected)}`);
    }
  }
}
