// Clients connect to the engine by TLS, certificate or API key, and the reason why they cannot is explained in one line.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '../../../src/config.ts';
import { openEngine } from '../../../src/platform/temporal/connection.ts';
import { explainEngine } from '../../../src/platform/temporal/diagnosis.ts';
import { engineTls } from '../../../src/platform/temporal/tls.ts';
import {
  type EngineFront,
  type EngineFrontOptions,
  startEngineFront,
  tlsFile,
} from '../../support/engine-front.ts';
import { useEngine, type TestEngine } from '../../support/engine.ts';

const ca = { TEMPORAL_TLS_CA_FILE: tlsFile('ca') };
const ourCertificate = {
  TEMPORAL_TLS_CERT_FILE: tlsFile('client'),
  TEMPORAL_TLS_KEY_FILE: tlsFile('client-key'),
};
const foreignCertificate = {
  TEMPORAL_TLS_CERT_FILE: tlsFile('self-signed'),
  TEMPORAL_TLS_KEY_FILE: tlsFile('self-signed-key'),
};

let engine: TestEngine;
let front: EngineFront | undefined;

beforeAll(async () => {
  engine = await useEngine();
}, 60_000);

afterEach(async () => {
  await front?.close();
  front = undefined;
});

type Settings = Record<string, string>;

async function startFront(options: EngineFrontOptions): Promise<EngineFront> {
  front = await startEngineFront(engine.address, options);
  return front;
}

/** By default with the proxy's address. */
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
  it('reaches an engine by TLS if it knows the authority', async () => {
    await startFront({});
    expect(await ask(ca)).not.toBe('');
    expect(callsOf('DescribeNamespace')).toHaveLength(1);
  });

  it('shows its certificate to an engine that requires one', async () => {
    await startFront({ clientCertificates: true });
    expect(await ask({ ...ca, ...ourCertificate })).not.toBe('');
    expect(front?.clients).toEqual(['carillon client']);
  });

  it('sends its API key, and uses TLS for that even if TEMPORAL_TLS is not set', async () => {
    await startFront({ authorization: 'Bearer of-the-test' });
    expect(await ask({ ...ca, TEMPORAL_API_KEY: 'of-the-test' })).not.toBe('');
    expect(callsOf('DescribeNamespace')[0]?.headers).toMatchObject({
      authorization: 'Bearer of-the-test',
      'temporal-namespace': engine.namespace,
    });
  });

  it.each<[string, EngineFrontOptions, Settings]>([
    ['without its authority', {}, { TEMPORAL_TLS: 'true' }],
    ['with another authority', {}, { TEMPORAL_TLS_CA_FILE: tlsFile('self-signed') }],
    ['without the certificate it requires', { clientCertificates: true }, ca],
    ['with a foreign certificate', { clientCertificates: true }, { ...ca, ...foreignCertificate }],
    ['with another API key', { authorization: 'Bearer a' }, { ...ca, TEMPORAL_API_KEY: 'b' }],
  ])('cannot reach an engine %s', async (_case, options, settings) => {
    await startFront(options);
    await expect(ask(settings)).rejects.toThrow(/UNAVAILABLE|UNAUTHENTICATED/);
  });
});

describe('explainEngine', () => {
  async function explain(options: EngineFrontOptions, settings: Settings): Promise<string | null> {
    await startFront(options);
    return explainEngine(configOf(settings), new AbortController().signal);
  }

  it.each<[string, EngineFrontOptions, Settings, RegExp]>([
    [
      'an unknown authority',
      {},
      { TEMPORAL_TLS: 'true' },
      /^its certificate is not signed by a public authority: set TEMPORAL_TLS_CA_FILE /,
    ],
    [
      'another authority',
      {},
      { TEMPORAL_TLS_CA_FILE: tlsFile('self-signed') },
      /^its certificate is not signed by an authority in \S+self-signed.pem: set TEMPORAL_TLS_CA_FILE /,
    ],
    ['an engine that requires TLS', {}, {}, /^it speaks TLS: set TEMPORAL_TLS=true/],
    [
      'an engine that requires a certificate',
      { clientCertificates: true },
      ca,
      /^it requires a client certificate: set TEMPORAL_TLS_CERT_FILE and TEMPORAL_TLS_KEY_FILE$/,
    ],
    [
      'an engine that refuses our certificate',
      { clientCertificates: true },
      { ...ca, ...foreignCertificate },
      /^it closes a connection with the client certificate in \S+self-signed.pem: set TEMPORAL_TLS_CERT_FILE /,
    ],
    [
      'an engine that requires an API key',
      { authorization: 'Bearer a' },
      ca,
      /^it denies access to .*: set TEMPORAL_API_KEY, or /,
    ],
    [
      'an engine that refuses our API key',
      { authorization: 'Bearer a' },
      { ...ca, TEMPORAL_API_KEY: 'b' },
      /^it refuses the API key for namespace test-\S+: set TEMPORAL_API_KEY /,
    ],
    [
      'an unknown namespace',
      {},
      { ...ca, TEMPORAL_NAMESPACE: 'elsewhere' },
      /^it has no namespace elsewhere: create it, or set TEMPORAL_NAMESPACE /,
    ],
  ])('explains %s', async (_case, options, settings, line) => {
    const explanation = await explain(options, settings);
    expect(explanation).toMatch(line);
    expect(explanation).not.toContain('\n');
  });

  it('explains a certificate for another name, and an engine without TLS', async () => {
    await startFront({});
    const port = front?.address.split(':')[1];
    const { signal } = new AbortController();
    expect(await explainEngine(configOf({ ...ca, TEMPORAL_ADDRESS: `localhost:${port}` }), signal)).toMatch(
      /^its certificate is not for localhost: set TEMPORAL_ADDRESS /,
    );
    expect(await explainEngine(configOf({ ...ca, TEMPORAL_ADDRESS: engine.address }), signal)).toMatch(
      /^it does not speak TLS on that port: set TEMPORAL_ADDRESS /,
    );
  });

  it('returns null if the engine answers or is unavailable', async () => {
    expect(await explain({}, ca)).toBeNull();
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
    [{ TEMPORAL_TLS_CA_FILE: noPem }, /^TEMPORAL_TLS_CA_FILE: .* contains no certificate in PEM$/],
    [
      { ...ourCertificate, TEMPORAL_TLS_KEY_FILE: noPem },
      /^TEMPORAL_TLS_KEY_FILE: .* contains no private key /,
    ],
    [{ TEMPORAL_TLS_CERT_FILE: tlsFile('client') }, /belong together: set both or neither$/],
    [{ TEMPORAL_TLS_KEY_FILE: tlsFile('client-key') }, /belong together: set both or neither$/],
    [
      { ...ourCertificate, TEMPORAL_TLS_KEY_FILE: tlsFile('server-key') },
      /does not belong to the certificate/,
    ],
    [
      { TEMPORAL_ADDRESS: '', TEMPORAL_API_KEY: 'k', TEMPORAL_TLS: 'true' },
      /^TEMPORAL_API_KEY, TEMPORAL_TLS without TEMPORAL_ADDRESS: set the address /,
    ],
  ])('fail with one line if they cannot be used: %j', (settings, line) => {
    const config = loadConfig({ TEMPORAL_ADDRESS: '127.0.0.1:1', ...settings });
    expect(() => engineTls(config)).toThrow(line);
  });
});
