// The Compose file is valid, passes every setting to every role, and exposes no internal service or secret.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';
import { loadConfig, settingNames } from '../../src/config.ts';
import { roles } from '../../src/roles/names.ts';

interface Service {
  ports?: string[];
  command?: string[];
  entrypoint?: string[];
  environment?: Record<string, unknown>;
  env_file?: unknown;
  depends_on?: Record<string, unknown> | string[];
  stop_grace_period?: string;
}

const root = new URL('../../', import.meta.url);
const compose = parse(readFileSync(new URL('docker-compose.yml', root), 'utf8'), { merge: true }) as {
  services: Record<string, Service>;
};
const schema = JSON.parse(
  readFileSync(new URL('test/support/compose/compose-spec.json', root), 'utf8'),
) as Record<string, unknown>;

function validate(document: unknown): string[] {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  // The published schema names the draft by its https address, which ajv does not know.
  const check = ajv.compile({ ...schema, $schema: 'http://json-schema.org/draft-07/schema#' });
  check(document);
  return (check.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
}

describe('docker-compose.yml', () => {
  it('is valid by the Compose Specification', () => {
    expect(validate(compose)).toEqual([]);
    expect(validate({ services: { api: { comand: ['start'] } } })).not.toEqual([]);
  });

  it('runs every role, after the migration', () => {
    const started = Object.values(compose.services).map((service) => service.command?.join(' '));
    for (const role of roles) {
      expect(started).toContain(`start ${role}`);
      expect(compose.services[role]?.depends_on).toHaveProperty('migrate');
      // The image's launcher gives each role its flags.
      expect(compose.services[role]?.entrypoint).toBeUndefined();
    }
    expect(compose.services['temporal-ui']).toBeDefined();
  });

  it('gives each role more time to stop than its setting', () => {
    const { SENDER_GRACE_SECONDS, SHUTDOWN_GRACE_SECONDS } = loadConfig({});
    for (const role of roles) {
      const seconds = Number(/^(\d+)s$/.exec(compose.services[role]?.stop_grace_period ?? '')?.[1]);
      expect(seconds).toBeGreaterThan(role === 'sender' ? SENDER_GRACE_SECONDS : SHUTDOWN_GRACE_SECONDS);
    }
  });

  it('publishes PostgreSQL and the Web UI on loopback only, and does not publish the engine', () => {
    for (const name of ['postgres', 'temporal-ui']) {
      const ports = compose.services[name]?.ports ?? [];
      expect(ports).not.toEqual([]);
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    }
    expect(compose.services.temporal?.ports).toBeUndefined();
  });

  it('takes every secret from the environment', () => {
    for (const name of ['APP_SECRET', 'DATABASE_URL', 'EMAIL_PROVIDER_URL']) {
      expect(compose.services.api?.environment?.[name]).toMatch(/\$\{\w+:\?/);
    }
  });
});

describe('.env.example', () => {
  const text = readFileSync(new URL('.env.example', root), 'utf8');
  const values = new Map(
    [...text.matchAll(/^#?([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  const carillon = ['migrate', ...roles].map((name) => compose.services[name] as Service);
  /** Settings that the compose file sets itself: their values contain no variable of the same name. */
  const fixed = Object.entries(compose.services.api?.environment ?? {})
    .filter(([name, value]) => !String(value).startsWith(`\${${name}:`))
    .map(([name]) => name);
  /** Settings that mean nothing in a container, where neither npm nor embedded servers run. */
  const elsewhere = [
    'CARILLON_CACHE',
    'CARILLON_DEV',
    'MAILBOX_PORT',
    'MAILBOX_TOKEN',
    'NODE_ENV',
    'TEMPORAL_PORT',
    'XDG_CACHE_HOME',
    'npm_lifecycle_event',
  ];

  it('has every setting that the compose file does not set itself', () => {
    const there = new Set([...values.keys(), ...fixed, ...elsewhere]);
    expect(settingNames.filter((name) => !there.has(name))).toEqual([]);
  });

  it('has only settings, and variables of the compose file', () => {
    const variables = [...JSON.stringify(compose).matchAll(/\$\{(\w+):/g)].map(([, name]) => name);
    const known = new Set([...settingNames, ...variables]);
    expect([...values.keys()].filter((name) => !known.has(name))).toEqual([]);
    expect(variables.filter((name = '') => !values.has(name))).toEqual([]);
  });

  it('shows the defaults', () => {
    const shown = Object.fromEntries([...values].filter(([name]) => name !== 'PUBLIC_URL'));
    expect(loadConfig(shown)).toEqual(loadConfig({}));
  });

  it('reaches every role and the migration', () => {
    for (const service of carillon) {
      expect(service.env_file).toEqual([{ path: '.env', required: false }]);
      expect(service.environment).toMatchObject(compose.services.api?.environment ?? {});
    }
    expect(fixed.toSorted()).toEqual([
      'CARILLON_HOME',
      'DATABASE_URL',
      'HOST',
      'MAIL_LISTEN_HOST',
      'MAIL_PORT',
      'PORT',
      'SUBMISSION_LISTEN_HOST',
      'SUBMISSION_PORTS',
      'SUBMISSION_TLS_PORTS',
      'TEMPORAL_ADDRESS',
    ]);
  });

  it('is copied to a file that neither the repository nor the image takes', () => {
    for (const name of ['.gitignore', '.dockerignore']) {
      expect(readFileSync(new URL(name, root), 'utf8').split('\n')).toContain('.env');
    }
  });
});

describe('the Dockerfile', () => {
  it('builds the console in a stage of its own, and ships only the bundle', () => {
    const stages = readFileSync(new URL('Dockerfile', root), 'utf8').split(/^FROM /m);
    const [build = '', image = ''] = stages.slice(-2);
    expect(build).toContain('COPY console console\nRUN node src/local/console/build-program.ts\n');
    expect(image).toContain('COPY --from=console /app/console/dist console/dist\n');
    expect(image).not.toContain('COPY console');
  });
});
