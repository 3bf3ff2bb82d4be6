// Users confirm one call of an assistant at a time, with exactly its arguments: by a form, or by a code that is used once.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createMcpHandler, Server, type CallToolResult } from '@modelcontextprotocol/server';
import { createConfirmations } from '../../../src/features/mcp/confirmations.ts';
import { mcpUpkeep } from '../../../src/features/mcp/upkeep.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { runTask } from '../../support/housekeeping.ts';

const SECRET = 'a secret of the tests that is long enough';
const OTHER_SECRET = 'another secret of the tests, long enough';
const ARGS = { id: 7, account_id: 1, brand_id: 2 };

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

interface Answer {
  action: 'accept' | 'decline' | 'cancel';
  content?: { confirm: boolean };
}

interface StageOptions {
  grantId?: number;
  era?: 'legacy' | { pin: string };
  /** What the user answers. Without it, the client cannot ask. */
  answer?: (message: string) => Answer;
  secrets?: string[];
  /** What the client declares, instead of forms. */
  elicitation?: Record<string, Record<string, never>>;
}

/** A client of a server whose tools need a confirmation. */
interface Stage {
  client: Client;
  /** The arguments of the calls that were done. */
  done: unknown[];
  /** The last request that the client sent. */
  sent: { body: string; headers: Headers };
  /** Sends a request to the server, with the headers of the last one. */
  send(body: string): Promise<{ result?: CallToolResult; error?: { code: number } }>;
}

const accept = (): Answer => ({ action: 'accept', content: { confirm: true } });
const decline = (): Answer => ({ action: 'decline' });

function createHandler({ grantId = 1, secrets = [SECRET] }: StageOptions, done: unknown[]) {
  const keyring = createKeyring(secrets[0] as string, secrets.slice(1));
  const confirmations = createConfirmations(test.database.pool, keyring);
  const createServer = () => {
    const server = new Server(
      { name: 'test', version: '1' },
      { capabilities: { tools: {} }, requestState: { verify: confirmations.verifyState } },
    );
    server.setRequestHandler('tools/call', async ({ params }, ctx) => {
      const { confirmation = null, ...args } = (params.arguments ?? {}) as { confirmation?: string };
      const summary = 'Delete the list 7 of Acme';
      const call = { grantId, tool: params.name, args, confirmation, summary, ctx };
      const outcome = await confirmations.require(call);
      if (outcome !== 'go on') return outcome;
      done.push(args);
      return { content: [{ type: 'text', text: 'deleted' }] };
    });
    return server;
  };
  return createMcpHandler(createServer, { legacy: 'stateless', responseMode: 'json' });
}

async function openStage(options: StageOptions = {}): Promise<Stage> {
  const { answer, era = { pin: '2026-07-28' }, elicitation = { form: {} } } = options;
  const done: unknown[] = [];
  const handler = createHandler(options, done);
  const capabilities = answer ? { elicitation } : {};
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: era }, capabilities },
  );
  if (answer) {
    client.setRequestHandler('elicitation/create', ({ params }) => ({ ...answer(params.message) }));
  }
  const url = 'http://localhost/mcp';
  const stage: Stage = {
    client,
    done,
    sent: { body: '', headers: new Headers() },
    async send(body) {
      const { headers } = stage.sent;
      const response = await handler.fetch(new Request(url, { method: 'POST', headers, body }));
      return (await response.json()) as { result?: CallToolResult };
    },
  };
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    async fetch(target, init) {
      const request = new Request(target, init);
      if (request.method === 'POST') {
        stage.sent = { body: await request.clone().text(), headers: request.headers };
      }
      return handler.fetch(request);
    },
  });
  await client.connect(transport);
  return stage;
}

function call(stage: Stage, args: Record<string, unknown> = ARGS, name = 'delete_list') {
  return stage.client.callTool({ name, arguments: args });
}

const errorOf = (result: CallToolResult) => result.structuredContent as Record<string, string>;

describe.each<[string, StageOptions]>([
  ['of the former era', { era: 'legacy' }],
  ['that cannot show forms', {}],
  ['that can only open pages', { elicitation: { url: {} }, answer: accept }],
])('a client %s', (_, options) => {
  it('gets a code that confirms the call when it is repeated', async () => {
    const stage = await openStage(options);
    const first = await call(stage);
    expect(first.isError).toBe(true);
    expect(errorOf(first)).toMatchObject({
      code: 'confirmation_required',
      summary: 'Delete the list 7 of Acme',
      confirmation: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(JSON.parse((first.content[0] as { text: string }).text)).toEqual(first.structuredContent);
    expect(stage.done).toEqual([]);
    const second = await call(stage, { ...ARGS, confirmation: errorOf(first)['confirmation'] });
    expect(second.isError).toBeUndefined();
    expect(stage.done).toEqual([ARGS]);
  });
});

describe('a code', () => {
  const refused = async (stage: Stage, args: Record<string, unknown>, name?: string) => {
    const result = await call(stage, args, name);
    expect(errorOf(result)).toMatchObject({ code: 'confirmation_required' });
    expect(errorOf(result)['message']).toMatch(/^This confirmation was used, has expired/);
    return result;
  };

  it('is used by only one of twenty simultaneous calls, and refused afterwards', async () => {
    const stage = await openStage();
    const { confirmation } = errorOf(await call(stage));
    const args = { ...ARGS, confirmation };
    const results = await Promise.all(Array.from({ length: 20 }, () => call(stage, args)));
    expect(results.filter((result) => !result.isError)).toHaveLength(1);
    await refused(stage, args);
    expect(stage.done).toHaveLength(1);
  });

  it.each([
    ['another id', { ...ARGS, id: 8 }],
    ['another brand', { ...ARGS, brand_id: 3 }],
    ['one more argument', { ...ARGS, force: true }],
    ['an argument fewer', { id: 7, account_id: 1 }],
  ])('is refused with %s', async (_, args) => {
    const stage = await openStage();
    const { confirmation } = errorOf(await call(stage));
    await refused(stage, { ...args, confirmation });
    expect(stage.done).toEqual([]);
  });

  it('is refused for another tool, and for another grant', async () => {
    const stage = await openStage();
    const { confirmation } = errorOf(await call(stage));
    await refused(stage, { ...ARGS, confirmation }, 'delete_flow');
    const other = await openStage({ grantId: 2 });
    await refused(other, { ...ARGS, confirmation });
    expect([...stage.done, ...other.done]).toEqual([]);
  });

  it('is refused after ten minutes, and each refusal offers another', async () => {
    const stage = await openStage();
    const { confirmation } = errorOf(await call(stage));
    await test.database.pool.query(
      `update mcp_confirmations set expires_at = expires_at - interval '10 minutes'`,
    );
    await refused(stage, { ...ARGS, confirmation });
    const { confirmation: another } = errorOf(await refused(stage, { ...ARGS, confirmation: 'rubbish' }));
    expect(stage.done).toEqual([]);
    expect((await call(stage, { ...ARGS, confirmation: another })).isError).toBeUndefined();
  });

  it('is stored as a digest, which is removed a day after it expired', async () => {
    const { pool } = test.database;
    const { confirmation = '' } = errorOf(await call(await openStage()));
    const { rows } = await pool.query(`select * from mcp_confirmations`);
    expect(JSON.stringify(rows)).not.toContain(confirmation);
    const task = mcpUpkeep.tasks?.find(({ name }) => name === 'mcp_confirmations');
    if (!task) throw new Error('no task');
    const hours = (count: number) => new Date(Date.now() + count * 3_600_000);
    await runTask(test.database, task, hours(23));
    expect((await pool.query(`select 1 from mcp_confirmations`)).rowCount).toBe(rows.length);
    await runTask(test.database, task, hours(25));
    expect((await pool.query(`select 1 from mcp_confirmations`)).rowCount).toBe(0);
  });
});

describe('a form', () => {
  it('asks the user, and the call is done once they confirm', async () => {
    const asked: string[] = [];
    const stage = await openStage({
      answer(message) {
        asked.push(message);
        return accept();
      },
    });
    expect((await call(stage)).isError).toBeUndefined();
    expect(asked).toEqual(['Delete the list 7 of Acme?']);
    expect(stage.done).toEqual([ARGS]);
  });

  it.each<[string, Answer]>([
    ['declines', { action: 'decline' }],
    ['closes it', { action: 'cancel' }],
    ['leaves the box empty', { action: 'accept', content: { confirm: false } }],
  ])('does nothing if the user %s', async (_, answer) => {
    const stage = await openStage({ answer: () => answer });
    const result = await call(stage);
    expect(result.isError).toBe(true);
    expect(errorOf(result)).toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('did not agree'),
    });
    expect(stage.done).toEqual([]);
  });

  it('is asked again if the answer is sent once more', async () => {
    const stage = await openStage({ answer: accept });
    await call(stage);
    const { body } = stage.sent;
    expect(body).toContain('requestState');
    expect((await stage.send(body)).result).toMatchObject({ resultType: 'input_required' });
    expect(stage.done).toHaveLength(1);
  });

  /** A request that its user has confirmed, but that was not sent. */
  async function confirmed(stage: Stage): Promise<string> {
    await call(stage);
    return stage.sent.body.replace('{"action":"decline"}', JSON.stringify(accept()));
  }

  it.each([
    ['with other arguments', (text: string) => text.replace('"id":7', '"id":8')],
    ['for another tool', (text: string) => text.replace('delete_list', 'delete_flow')],
  ])('is asked again if its answer comes %s', async (_, change) => {
    const stage = await openStage({ answer: decline });
    const body = await confirmed(stage);
    stage.sent.headers.set('mcp-name', change('delete_list'));
    expect((await stage.send(change(body))).result).toMatchObject({ resultType: 'input_required' });
    expect(stage.done).toEqual([]);
    stage.sent.headers.set('mcp-name', 'delete_list');
    expect((await stage.send(body)).result?.isError).toBeUndefined();
    expect(stage.done).toEqual([ARGS]);
  });

  it('is asked again if its answer comes from another grant', async () => {
    const body = await confirmed(await openStage({ answer: decline }));
    const other = await openStage({ grantId: 2, answer: accept });
    await call(other);
    expect((await other.send(body)).result).toMatchObject({ resultType: 'input_required' });
    expect(other.done).toHaveLength(1);
  });

  it('is asked again if its state was changed or signed with an unknown secret, but not with the previous one', async () => {
    const body = await confirmed(await openStage({ answer: decline }));
    const sendTo = async (secrets: string[], text: string) => {
      const stage = await openStage({ secrets, answer: decline });
      await call(stage);
      return { ...(await stage.send(text)), done: stage.done };
    };
    const refused = { result: { resultType: 'input_required' }, done: [] };
    expect(await sendTo([OTHER_SECRET], body)).toMatchObject(refused);
    const changed = body.replace(/(?<="requestState":"v1\.)[^.]+/, (text) => `${text}AA`);
    expect(changed).not.toBe(body);
    expect(await sendTo([SECRET], changed)).toMatchObject(refused);
    expect(await sendTo([OTHER_SECRET, SECRET], body)).toMatchObject({ done: [ARGS] });
  });
});
