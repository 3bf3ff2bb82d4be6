/** Answers of name servers as plain data, kept for a while, for programs that ask about many names of mail. */
import { LRUCache } from 'lru-cache';
import { withDeadline } from './resolver.ts';

const recordTypes = ['A', 'AAAA', 'MX', 'PTR', 'TXT'] as const;
type RecordType = (typeof recordTypes)[number];

/** Such as `TXT example.com`, in lower case after the type. */
export type DnsQuestion = string;

/** @returns null if Carillon never asks for records of this type */
export function dnsQuestion(name: string, type: string): DnsQuestion | null {
  return isRecordType(type) ? `${type} ${name.toLowerCase()}` : null;
}

function isRecordType(type: string): type is RecordType {
  return (recordTypes as readonly string[]).includes(type);
}

/** Records as `dns.resolve` returns them, or the code of its error. ETIMEOUT means any temporary failure. */
export type DnsAnswer = { records: unknown[] } | { code: 'ENOTFOUND' | 'ENODATA' | 'EBADNAME' | 'ETIMEOUT' };

export interface DnsAnswers {
  /** Never fails: a failure is an answer, too. Questions that were asked recently are answered at once. */
  answer(question: DnsQuestion): Promise<DnsAnswer>;
}

const LOOK_UP_MS = 5_000;
const MAX_ANSWERS = 10_000;
const MAX_BYTES = 16 * 1024 * 1024;
/** Records that are longer than this in all are no policy or key of mail. */
const MAX_ANSWER_BYTES = 16 * 1024;
const OVERHEAD_BYTES = 200;

/** How long an answer is valid, in ms. A failure is kept for so short a time that only a burst of mail shares it. */
export function dnsAnswerLifeMs(answer: DnsAnswer): number {
  if ('records' in answer) return 300_000;
  return answer.code === 'ETIMEOUT' ? 5_000 : 60_000;
}

function sizeOf(answer: DnsAnswer): number {
  return 'records' in answer ? JSON.stringify(answer.records).length : 0;
}

/** A bounded memory of answers, each for as long as it is valid. */
export function createAnswerCache(maxBytes = MAX_BYTES): LRUCache<DnsQuestion, DnsAnswer> {
  return new LRUCache({
    max: MAX_ANSWERS,
    maxSize: maxBytes,
    sizeCalculation: (answer, question) => OVERHEAD_BYTES + question.length + sizeOf(answer),
  });
}

function failureOf(error: unknown): DnsAnswer {
  const { code } = error as { code?: string };
  if (code === 'ENOTFOUND' || code === 'ENODATA' || code === 'EBADNAME') return { code };
  return { code: 'ETIMEOUT' };
}

/**
 * @param servers addresses of name servers (DNS_SERVERS). If empty, the system's.
 * @param options.lookUpMs time limit for one question
 */
export function createDnsAnswers(
  servers: readonly string[],
  { lookUpMs = LOOK_UP_MS }: { lookUpMs?: number } = {},
): DnsAnswers {
  const known = createAnswerCache();
  const asked = new Map<DnsQuestion, Promise<DnsAnswer>>();

  async function ask(question: DnsQuestion): Promise<DnsAnswer> {
    const space = question.indexOf(' ');
    const [type, name] = [question.slice(0, space), question.slice(space + 1)];
    try {
      const records = await withDeadline(name, lookUpMs, servers, (client) => client.resolve(name, type));
      const answer = { records: [records].flat() };
      return sizeOf(answer) > MAX_ANSWER_BYTES ? { code: 'ENODATA' } : answer;
    } catch (error) {
      return failureOf(error);
    }
  }

  return {
    async answer(question) {
      const kept = known.get(question);
      if (kept) return kept;
      const running = asked.get(question);
      if (running) return running;
      const asking = ask(question);
      asked.set(question, asking);
      const answer = await asking;
      asked.delete(question);
      known.set(question, answer, { ttl: dnsAnswerLifeMs(answer) });
      return answer;
    },
  };
}
