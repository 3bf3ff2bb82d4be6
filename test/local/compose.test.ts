// The Compose file is valid, runs every role after the migration, and exposes no internal service or secret.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';
import { roles } from '../../src/roles/names.ts';

interface Service {
  ports?: string[];
  command?: string[];
  entrypoint?: string[];
  environment?: Record<string, unknown>;
  depends_on?: Record<string, unknown> | string[];
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

describe('the Dockerfile', () => {
  it('builds the console in a stage of its own, and ships only the bundle', () => {
    const stages = readFileSync(new URL('Dockerfile', root), 'utf8').split(/^FROM /m);
    const [build = '', image = ''] = stages.slice(-2);
    expect(build).toContain('COPY console console\nRUN node src/local/console/build-program.ts\n');
    expect(image).toContain('COPY --from=console /app/console/dist console/dist\n');
    expect(image).not.toContain('COPY console');
  });
});
