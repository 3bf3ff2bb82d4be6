// Every provider registers and removes domains, and only final refusals are reported as final.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DomainRefusedError } from '../../../../src/delivery/wire/adapters/http-api.ts';
import { parseProviderSettings, requireProviderKind } from '../../../../src/delivery/wire/providers/named.ts';
import type { Answer } from '../../../support/https-receiver.ts';
import { answerJson, type ProviderApi, startProviderApi } from '../../../support/provider-api.ts';

let api: ProviderApi;
beforeAll(async () => {
  api = await startProviderApi();
});
afterAll(() => api.close());
beforeEach(() => {
  api.requests = [];
});

const settings: Record<string, object> = {
  mailgun: { api_key: 'key-0123456789abcdef', webhook_signing_key: 'signing-0123456789abcdef' },
  postmark: { server_token: 'server-token', account_token: 'account-token' },
  resend: { api_key: 're_0123456789abcdef', webhook_secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
  sendgrid: { api_key: 'SG.0123456789abcdef.0123456789abcdef' },
  ses: {
    region: 'eu-central-1',
    access_key_id: 'AKIAIOSFODNN7EXAMPLE',
    secret_access_key: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  },
};

function domainsOf(name: string) {
  const kind = requireProviderKind(name);
  const parsed = parseProviderSettings(kind, { ...settings[name], base_url: api.baseUrl });
  return {
    register: (creating?: () => Promise<void>) =>
      kind.domains?.registerDomain('acme.example', parsed, api.deps, creating),
    remove: () => kind.domains?.removeDomain('acme.example', parsed, api.deps),
  };
}

/** What lookups return if the service has the domain, and if not. */
const lookUps: Record<string, (has: boolean) => Answer> = {
  mailgun: (has) => answerJson(has ? 200 : 404, {}),
  postmark: (has) =>
    answerJson(200, { TotalCount: 1, Domains: has ? [{ ID: 7, Name: 'acme.example' }] : [] }),
  resend: (has) => answerJson(200, { data: has ? [{ id: 'd7', name: 'acme.example' }] : [] }),
  sendgrid: (has) => answerJson(200, has ? [{ id: 7, domain: 'acme.example' }] : []),
  ses: (has) => answerJson(has ? 200 : 404, {}, has ? {} : { 'x-amzn-errortype': 'NotFoundException' }),
};

/** Responds to lookups as above, and to every other request with the same response. */
function serve(name: string, has: boolean, answer: Answer): void {
  api.answer = (request, response) =>
    (request.method === 'GET' ? lookUps[name]?.(has) : answer)?.(request, response);
}

const changes = () =>
  api.requests.filter(({ method }) => method !== 'GET').map(({ method, url }) => `${method} ${url}`);

describe('the registration of a domain', () => {
  it.each(Object.keys(settings))('is reported as new by %s', async (name) => {
    serve(name, false, answerJson(200, {}));
    expect(await domainsOf(name).register()).toBe(true);
    serve(name, true, answerJson(name === 'ses' ? 400 : 200, { __type: 'AlreadyExistsException' }));
    expect(await domainsOf(name).register()).toBe(false);
  });

  it.each(Object.keys(settings))('is announced before it is made at %s, and only then', async (name) => {
    const seen: string[][] = [];
    const creating = () => Promise.resolve(void seen.push(changes()));
    serve(name, true, answerJson(200, {}));
    await domainsOf(name).register(creating);
    expect(seen).toEqual([]);
    api.requests = [];
    serve(name, false, answerJson(200, {}));
    await domainsOf(name).register(creating);
    expect(seen).toEqual([[]]);
  });

  it.each([
    ['mailgun', 'DELETE /v3/domains/acme.example'],
    ['postmark', 'DELETE /domains/7'],
    ['resend', 'DELETE /domains/d7'],
    ['sendgrid', 'DELETE /v3/whitelabel/domains/7'],
    ['ses', 'DELETE /v2/email/identities/acme.example'],
  ])('is removed from %s', async (name, request) => {
    serve(name, true, answerJson(200, {}));
    await domainsOf(name).remove();
    expect(changes()).toEqual([request]);
  });

  it.each(Object.keys(settings))('may be gone already at %s', async (name) => {
    const notFound = { 'x-amzn-errortype': 'NotFoundException' };
    serve(name, false, answerJson(404, { message: 'not found' }, notFound));
    await domainsOf(name).remove();
  });

  it.each([
    ['mailgun', 400, { message: 'taken' }, 'Mailgun refused: 400 taken'],
    ['postmark', 422, { ErrorCode: 505, Message: 'taken' }, 'Postmark refused: 422 taken'],
    ['resend', 403, { name: 'validation_error', message: 'taken' }, 'Resend refused: 403 taken'],
    ['resend', 403, { name: 'invalid_api_key', message: 're_0' }, /^Resend does not accept the credentials/],
    ['sendgrid', 400, { errors: [{ message: 'taken' }] }, 'SendGrid refused: 400 taken'],
    [
      'ses',
      400,
      { __type: 'LimitExceededException', message: 'taken' },
      'Amazon SES refused: LimitExceeded: taken',
    ],
    [
      'ses',
      403,
      { __type: 'AccessDeniedException', message: 'arn:aws:iam::1' },
      /^Amazon SES does not accept/,
    ],
  ])('is refused for good by %s with %i %j', async (name, status, body, message) => {
    serve(name, false, answerJson(status, body));
    const error: unknown = await domainsOf(name)
      .register()
      ?.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DomainRefusedError);
    expect((error as Error).message).toMatch(message);
  });

  it.each([
    ['mailgun', 429, {}],
    ['postmark', 500, {}],
    ['resend', 429, { name: 'rate_limit_exceeded' }],
    ['sendgrid', 408, {}],
    ['ses', 400, { __type: 'ThrottlingException' }],
    ['ses', 403, { __type: 'RequestTimeTooSkewed' }],
  ])('may be accepted later by %s after %i %j', async (name, status, body) => {
    serve(name, false, answerJson(status, body));
    const error: unknown = await domainsOf(name)
      .register()
      ?.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(DomainRefusedError);
  });
});
