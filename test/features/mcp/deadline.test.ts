// A call that takes too long is answered in time, in both eras, and the log gets its true outcome.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pino from 'pino';
import { createConfirmations } from '../../../src/features/mcp/confirmations.ts';
import { toAppError } from '../../../src/platform/http/middlewares/errors.ts';
import { createEndpoint } from '../../../src/features/mcp/endpoint.ts';
import { createTools } from '../../../src/features/mcp/tools.ts';
import { findGrantCaller } from '../../../src/features/oauth/index.ts';
import { createOwnOrigin } from '../../../src/platform/auth/own-origin.ts';
import { createInnerRequests } from '../../../src/platform/http/inner-requests.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { startTestApi, TEST_SECRET, type TestApi } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';
import { insertGrant } from '../../support/grants.ts';

let api: TestApi;
let send: Awaited<ReturnType<typeof impatientEndpoint>>;
beforeAll(async () => {
  api = await startTestApi();
  send = await impatientEndpoint();
});
afterAll(() => api.close());

/** The endpoint with a short deadline. */
async function impatientEndpoint() {
  const { accountId, brandId, userId, baseUrl, database } = api;
  const { pool } = database;
  const { accessToken } = await insertGrant(pool, { baseUrl, userId, choices: [{ accountId, brandId }] });
  const grant = await findGrantCaller(pool, accessToken, `${baseUrl}/mcp`);
  const log = pino({ level: 'silent' });
  const confirmations = createConfirmations(pool, createKeyring(TEST_SECRET));
  const { verifyState } = confirmations;
  const tools = createTools(api.routes);
  const description = () => '';
  const handle = createEndpoint({
    ...{ log, ownOrigin: createOwnOrigin(undefined), innerRequests: createInnerRequests() },
    ...{ clientAddress: () => null, deadlineMs: 100 },
    errorOf: toAppError,
    server: () => ({ pool, tools, confirmations, verifyState, description }),
  });
  return (body: object, headers: Record<string, string>) => {
    const req = { headers: { host: '127.0.0.1', 'content-type': 'application/json', ...headers } };
    const ctx = { req, state: { principal: { grant } } };
    return handle({ ctx, body, requestId: 'slow', tenant: { accountId }, log } as unknown as Parameters<
      typeof handle
    >[0]);
  };
}

const whoami = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami', arguments: {} } };
const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const modern = { ...whoami, params: { ...whoami.params, _meta: envelope } };
const modernHeaders = {
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'whoami',
};

it.each([
  ['an earlier', whoami, {}],
  ['the modern', modern, modernHeaders],
])('of %s client', async (_era, body, headers) => {
  const accept = { accept: 'application/json, text/event-stream', ...headers };
  const locker = await api.database.pool.connect();
  await locker.query('begin; lock table users in access exclusive mode');
  await expect(send(body, accept)).rejects.toMatchObject({ code: 'unavailable' });
  await locker.query('commit');
  locker.release();
  await eventually(async () => {
    const { rows } = await api.database.pool.query('select outcome from mcp_calls order by id desc limit 1');
    expect(rows).toEqual([{ outcome: 'ok' }]);
  });
});
