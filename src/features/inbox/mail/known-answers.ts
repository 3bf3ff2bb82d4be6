import type { LRUCache } from 'lru-cache';
import {
  createAnswerCache,
  dnsAnswerLifeMs,
  dnsQuestion,
  type DnsAnswer,
  type DnsQuestion,
} from '../../../platform/dns/answers.ts';

const MAX_BYTES = 4 * 1024 * 1024;
const DMARC = /^TXT _dmarc\./;
/** The tree walk of DMARC asks about so many names (RFC 9989, section 4.10). */
const MAX_WALK = 8;

/**
 * The answers of name servers that a thread knows. It never asks itself: a thread that waits for a name server could read
 * no other mail, so the name servers of one sender could stop the mail of all others.
 */
export class KnownAnswers {
  readonly #kept: LRUCache<DnsQuestion, DnsAnswer> = createAnswerCache(MAX_BYTES);
  /** For the current job, however long they are valid. */
  #given = new Map<DnsQuestion, DnsAnswer>();
  #unknown = new Set<DnsQuestion>();
  #last = false;

  /** @param last whether what is unknown is a temporary failure, because the time for questions is over */
  begin(given: readonly [DnsQuestion, DnsAnswer][], last: boolean): void {
    this.#given = new Map(given);
    this.#unknown = new Set();
    this.#last = last;
    for (const [question, answer] of given)
      this.#kept.set(question, answer, { ttl: dnsAnswerLifeMs(answer) });
  }

  /** The questions of the current job that have yet to be answered. */
  get unknown(): DnsQuestion[] {
    return this.#last ? [] : [...this.#unknown];
  }

  /** Has the signature of `dns.promises.resolve`. */
  async resolve(name: string, type: string): Promise<never> {
    const question = dnsQuestion(name, type);
    const answer = question === null ? null : this.#find(question);
    if (answer && 'records' in answer) return answer.records as never;
    throw Object.assign(new Error(`${type} ${name} could not be looked up`), {
      code: answer?.code ?? 'ETIMEOUT',
    });
  }

  #find(question: DnsQuestion): DnsAnswer | null {
    const answer = this.#given.get(question) ?? this.#kept.get(question);
    if (answer) return answer;
    this.#unknown.add(question);
    if (DMARC.test(question)) this.#foreseeWalk(question);
    return null;
  }

  /** DMARC asks about the parents of a name next. To know them at once saves a run for each. */
  #foreseeWalk(question: DnsQuestion): void {
    const labels = question.split('.').slice(1).slice(-MAX_WALK);
    for (let from = 1; from < labels.length; from += 1) {
      const parent = `TXT _dmarc.${labels.slice(from).join('.')}`;
      if (!this.#given.has(parent) && !this.#kept.has(parent)) this.#unknown.add(parent);
    }
  }
}
