import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '../../../src/config.ts';
import { callEngine, openEngine } from '../../../src/platform/temporal/connection.ts';
import { explainEngine } from '../../../src/platform/temporal/diagnosis.ts';
import { engineTls } from '../../../src/platform/temporal/tls.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import {
  type EngineFront,
  type EngineFrontOptions,
  startEngineFront,
  tlsFile,
} from '../../support/engine-front.ts';
import { useEngine, type TestEngine } from '../../support/engine.ts';
import { type Program, runProgram, until } from '../../support/programs.ts';

const ca = { TEMPORAL_TLS_CA_FILE: tlsFile('ca') };
const ourCertificate = {
  TEMPORAL_TLS_CERT_FILE: tlsFile('client'),
  TEMPORAL_TLS_KEY_FILE: tlsFile('client-key'),
};
const strangersCertificate = {
  TEMPORAL_TLS_CERT_FILE: tlsFile('self-signed'),
  TEMPORAL_TLS_KEY_FILE: tlsFile('self-signed-key'),
};

let engine: TestEngine;
let front: EngineFront | undefined;
const programs: Program[] = [];

beforeAll(async () => {
  engine = await useEngine();
}, 60_000);

afterEach(async () => {
  for (const program of programs) program.child.kill('SIGKILL');
  await Promise.all(programs.splice(0).map((program) => program.ended));
  await front?.close();
  front = undefined;
});

type Settings = Record<string, string>;

async function put(options: EngineFrontOptions): Promise<EngineFront> {
  front = await startEngineFront(engine.address, options);
  return front;
}

/** By default at the proxy's address. */
function configOf(settings: Settings) {
  return loadConfig({
    TEMPORAL_ADDRESS: front?.address,
    TEMPORAL_NAMESPACE: engine.namespace,
    ...settings,
  });
}

async function ask(settings: Settings): Promise<string> {
  const opened = openEngine(configOf(settings));
  try {
    return await opened.namespaceId();
  } finally {
    await opened.close();
  }
}

function callsOf(method: string) {
  return (front as EngineFront).calls.filter(({ path }) => path.endsWith(`/${method}`));
}

describe('a client', () => {
  it('reaches an engine by TLS, given its authority', async () => {
    await put({});
    expect(await ask(ca)).not.toBe('');
    expect(callsOf('DescribeNamespace')).toHaveLength(1);
  });

  it('shows its certificate to an engine that asks for one', async () => {
    await put({ clientCertificates: true });
    expect(await ask({ ...ca, ...ourCertificate })).not.toBe('');
    expect(front?.clients).toEqual(['carillon client']);
  });

  it('shows its API key, by TLS also where TEMPORAL_TLS does not say so', async () => {
    await put({ authorization: 'Bearer of-the-test' });
    expect(await ask({ ...ca, TEMPORAL_API_KEY: 'of-the-test' })).not.toBe('');
    expect(callsOf('DescribeNamespace')[0]?.headers).toMatchObject({
      authorization: 'Bearer of-the-test',
      'temporal-namespace': engine.namespace,
    });
  });

  it.each<[string, EngineFrontOptions, Settings]>([
    ['without its authority', {}, { TEMPORAL_TLS: 'true' }],
    ['with another authority', {}, { TEMPORAL_TLS_CA_FILE: tlsFile('self-signed') }],
    ['without the certificate it asks for', { clientCertificates: true }, ca],
    ['with a stranger’s certificate', { clientCertificates: true }, { ...ca, ...strangersCertificate }],
    ['with another API key', { authorization: 'Bearer a' }, { ...ca, TEMPORAL_API_KEY: 'b' }],
  ])('reaches no engine %s', async (_case, options, settings) => {
    await put(options);
    await expect(ask(settings)).rejects.toThrow(/UNAVAILABLE|UNAUTHENTICATED/);
  });
});

describe('why an engine cannot be used', () => {
  async function why(options: EngineFrontOptions, settings: Settings): Promise<string | null> {
    await put(options);
    return explainEngine(configOf(settings), new AbortController().signal);
  }

  it.each<[string, EngineFrontOptions, Settings, RegExp]>([
    [
      'its authority is not known',
      {},
      { TEMPORAL_TLS: 'true' },
      /^its certificate is signed by no authority known here: set TEMPORAL_TLS_CA_FILE /,
    ],
    [
      'its authority is another',
      {},
      { TEMPORAL_TLS_CA_FILE: tlsFile('self-signed') },
      /^its certificate is not signed by an authority in \S+self-signed.pem: set TEMPORAL_TLS_CA_FILE /,
    ],
    ['it speaks TLS and we do not', {}, {}, /^it speaks TLS: set TEMPORAL_TLS=true/],
    [
      'it asks for a certificate',
      { clientCertificates: true },
      ca,
      /^it asks for a client certificate: set TEMPORAL_TLS_CERT_FILE and TEMPORAL_TLS_KEY_FILE$/,
    ],
    [
      'it does not like our certificate',
      { clientCertificates: true },
      { ...ca, ...strangersCertificate },
      /^it closes the connection of who shows \S+self-signed.pem: set TEMPORAL_TLS_CERT_FILE /,
    ],
    [
      'it asks for an API key',
      { authorization: 'Bearer a' },
      ca,
      /let us into .*: set TEMPORAL_API_KEY, or /,
    ],
    [
      'it does not like our API key',
      { authorization: 'Bearer a' },
      { ...ca, TEMPORAL_API_KEY: 'b' },
      /^it refuses our API key for namespace test-\S+: set TEMPORAL_API_KEY /,
    ],
    [
      'it has no such namespace',
      {},
      { ...ca, TEMPORAL_NAMESPACE: 'elsewhere' },
      /^it has no namespace elsewhere: make it, or set TEMPORAL_NAMESPACE /,
    ],
  ])('is told where %s', async (_case, options, settings, line) => {
    const told = await why(options, settings);
    expect(told).toMatch(line);
    expect(told).not.toContain('\n');
  });

  it('is told where its certificate has another name, or it speaks no TLS', async () => {
    await put({});
    const port = front?.address.split(':')[1];
    const { signal } = new AbortController();
    expect(await explainEngine(configOf({ ...ca, TEMPORAL_ADDRESS: `localhost:${port}` }), signal)).toMatch(
      /^its certificate is not for localhost: set TEMPORAL_ADDRESS /,
    );
    expect(await explainEngine(configOf({ ...ca, TEMPORAL_ADDRESS: engine.address }), signal)).toMatch(
      /^it does not speak TLS there: set TEMPORAL_ADDRESS /,
    );
  });

  it('is nobody’s fault where it answers, or is away', async () => {
    expect(await why({}, ca)).toBeNull();
    await front?.close();
    const { signal } = new AbortController();
    expect(await explainEngine(configOf(ca), signal)).toBeNull();
    expect(await explainEngine(configOf({}), signal)).toBeNull();
  });
});

describe('TLS settings', () => {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-tls-'));
  const noPem = join(folder, 'no-pem');
  writeFileSync(noPem, 'no certificate');
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each<[Settings, RegExp]>([
    [{ TEMPORAL_TLS_CA_FILE: '/not/there' }, /^TEMPORAL_TLS_CA_FILE: \/not\/there cannot be read \(ENOENT\)/],
    [{ TEMPORAL_TLS_CA_FILE: noPem }, /^TEMPORAL_TLS_CA_FILE: .* holds no certificate in PEM$/],
    [{ ...ourCertificate, TEMPORAL_TLS_KEY_FILE: noPem }, /^TEMPORAL_TLS_KEY_FILE: .* holds no private key /],
    [{ TEMPORAL_TLS_CERT_FILE: tlsFile('client') }, /belong together: set both or none$/],
    [{ TEMPORAL_TLS_KEY_FILE: tlsFile('client-key') }, /belong together: set both or none$/],
    [{ ...ourCertificate, TEMPORAL_TLS_KEY_FILE: tlsFile('server-key') }, /is not that of the certificate/],
    [
      { TEMPORAL_ADDRESS: '', TEMPORAL_API_KEY: 'k', TEMPORAL_TLS: 'true' },
      /^TEMPORAL_API_KEY, TEMPORAL_TLS without TEMPORAL_ADDRESS: set the address /,
    ],
  ])('that cannot be meant are told in one line: %j', (settings, line) => {
    const config = loadConfig({ TEMPORAL_ADDRESS: '127.0.0.1:1', ...settings });
    expect(() => engineTls(config)).toThrow(line);
  });

  it('that cannot be meant keep carillon start from starting anything', async () => {
    const program = runProgram('src/main.ts', ['start', '--dev'], {
      CARILLON_HOME: folder,
      TEMPORAL_ADDRESS: engine.address,
      TEMPORAL_TLS_CA_FILE: '/not/there',
    });
    programs.push(program);
    expect(await program.ended).toBe(1);
    expect(program.output()).toMatch(
      /^carillon: TEMPORAL_TLS_CA_FILE: \/not\/there cannot be read [^\n]*\n$/,
    );
  });
});

describe('the worker role', () => {
  let made: TestDatabase;
  beforeAll(async () => {
    made = await createTestDatabase();
  }, 60_000);
  afterAll(() => made.drop());

  function startWorker(settings: Settings): Program {
    const program = runProgram('src/main.ts', ['start', 'worker'], {
      DATABASE_URL: made.url,
      TEMPORAL_ADDRESS: (front as EngineFront).address,
      TEMPORAL_NAMESPACE: engine.namespace,
      APP_SECRET: 'a secret of at least thirty-two characters',
      EMAIL_PROVIDER_URL: 'capture:',
      ...settings,
    });
    programs.push(program);
    return program;
  }

  function errorsOf(program: Program): string[] {
    const lines = program
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'));
    const said = lines.map((line) => JSON.parse(line) as { level: number; msg: string });
    return said.filter(({ level }) => level >= 50).map(({ msg }) => msg);
  }

  it('runs workflows and activities through TLS with a certificate and an API key', async () => {
    await put({ clientCertificates: true, authorization: 'Bearer of-the-test' });
    const settings = { ...ca, ...ourCertificate, TEMPORAL_API_KEY: 'of-the-test' };
    const program = startWorker(settings);
    await program.ready();
    const { client, close } = openEngine(configOf(settings));
    const tryOnce = () =>
      callEngine(client, async () => {
        const handle = client.schedule.getHandle('housekeeping');
        if ((await handle.describe()).info.recentActions.length > 0) return true;
        await handle.trigger();
        return false;
      }).catch(() => false);
    await until(tryOnce, () => program.output());
    const completed = () =>
      callEngine(client, async () => {
        for await (const { status } of client.workflow.list({ query: `WorkflowType = 'housekeeping'` })) {
          if (status.name === 'COMPLETED') return true;
        }
        return false;
      });
    await until(completed, () => program.output()).finally(close);
    for (const method of ['PollWorkflowTaskQueue', 'PollActivityTaskQueue', 'RespondActivityTaskCompleted']) {
      expect(callsOf(method)[0]?.headers).toMatchObject({ authorization: 'Bearer of-the-test' });
    }
    expect(errorsOf(program)).toEqual([]);
  }, 60_000);

  it('says once, in one line, why it cannot use the engine, and what to do', async () => {
    await put({});
    const program = startWorker({ TEMPORAL_TLS_CA_FILE: tlsFile('self-signed') });
    await program.ready();
    const first = (front as EngineFront).connections;
    await until(
      () => errorsOf(program).length > 0 && (front as EngineFront).connections > first + 12,
      () => program.output(),
    );
    expect(errorsOf(program)).toEqual([
      expect.stringMatching(
        /^the engine at 127\.0\.0\.1:\d+ cannot be used: its certificate is not signed by an authority in .*: set TEMPORAL_TLS_CA_FILE /,
      ),
    ]);
    program.child.kill('SIGTERM');
    expect(await program.ended).toBe(0);
  }, 60_000);
});
