import type pg from 'pg';
import type { ProviderDeps } from '../../src/delivery/wire/adapters/kind.ts';
import { createResolver } from '../../src/platform/dns/resolver.ts';
import { createEgress } from '../../src/platform/egress/client.ts';
import { type Answer, type ReceivedRequest, startReceiver, testCa } from './https-receiver.ts';

/** A server that stands in for a provider's API, and what a provider needs to reach it. */
export interface ProviderApi {
  /** `https://127.0.0.1:<port>`, for the settings of the provider. */
  baseUrl: string;
  requests: ReceivedRequest[];
  /** Responds to each request; 200 with an empty body by default. */
  answer: Answer;
  deps: ProviderDeps;
  close(): Promise<void>;
}

/** Starts an HTTPS server with a certificate that the provider trusts. */
export async function startProviderApi(): Promise<ProviderApi> {
  const receiver = await startReceiver();
  const resolver = createResolver([]);
  const egress = createEgress({
    resolver,
    allow: ['127.0.0.0/8'],
    userAgent: 'Carillon-Test/1',
    ca: [testCa],
  });
  const deps = {
    config: { SENDER_CONNECTIONS: 16, MAIL_DOMAIN: 'mail.example.com' } as ProviderDeps['config'],
    pool: {} as pg.Pool,
    resolver,
    egress,
  };
  return {
    baseUrl: `https://127.0.0.1:${receiver.port}`,
    deps,
    get requests() {
      return receiver.requests;
    },
    set requests(requests) {
      receiver.requests = requests;
    },
    get answer() {
      return receiver.answer;
    },
    set answer(answer) {
      receiver.answer = answer;
    },
    async close() {
      await egress.close();
      await receiver.close();
    },
  };
}

/** Responds to every request with JSON. */
export function answerJson(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
}
