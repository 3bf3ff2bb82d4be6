// Only --dev invents settings and allows local requests, and it never changes settings that are given.
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { loadConfig } from '../../../src/config.ts';
import { asVariables, developmentSettings } from '../../../src/local/home/settings.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'carillon-dev-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe('--dev', () => {
  it('captures mail, lets requests reach this machine, and creates secrets', async () => {
    const settings = await developmentSettings(loadConfig({}), home);
    expect(settings).toMatchObject({
      CARILLON_DEV: true,
      CARILLON_HOME: home,
      EMAIL_PROVIDER_URL: 'capture:',
      SMS_PROVIDER_URL: 'capture:',
      EGRESS_ALLOW: ['127.0.0.0/8', '::1/128'],
      HOST: '127.0.0.1',
    });
    expect(settings.APP_SECRET).toMatch(/^[\w-]{43}$/);
    expect(settings.MAILBOX_TOKEN).toMatch(/^[\w-]{32}$/);
    expect(settings.MAILBOX_TOKEN).not.toBe(settings.APP_SECRET);
    for (const file of ['app-secret', 'mailbox-token']) {
      expect(statSync(join(home, file)).mode & 0o777).toBe(0o600);
    }
  });

  it('keeps its secrets between starts', async () => {
    const first = await developmentSettings(loadConfig({}), home);
    const second = await developmentSettings(loadConfig({}), home);
    expect(second).toEqual(first);
  });

  it('does not change settings that are given', async () => {
    const given = {
      APP_SECRET: 'a secret of at least thirty-two characters',
      MAILBOX_TOKEN: 'a token of the mailbox',
      EMAIL_PROVIDER_URL: 'smtp://relay.test',
      SMS_PROVIDER_URL: 'capture:x',
      EGRESS_ALLOW: '10.0.0.0/8',
    };
    expect(await developmentSettings(loadConfig(given), home)).toMatchObject({
      ...given,
      EGRESS_ALLOW: ['10.0.0.0/8'],
    });
  });

  it('passes all settings on to the roles', async () => {
    const env = {
      DATABASE_URL: 'postgres://x',
      TEMPORAL_ADDRESS: '127.0.0.1:7',
      PORT: '4000',
      MAILBOX_PORT: '4001',
      MAIL_PORT: '4002',
      SUBMISSION_PORTS: '4003,4004',
    };
    const settings = await developmentSettings(loadConfig(env), home);
    expect(loadConfig(asVariables(settings))).toEqual(settings);
  });
});

describe('without --dev', () => {
  it('lets no request reach this machine, and invents no settings', () => {
    const config = loadConfig({});
    expect(config.EGRESS_ALLOW).toEqual([]);
    for (const name of ['APP_SECRET', 'EMAIL_PROVIDER_URL', 'SMS_PROVIDER_URL', 'MAILBOX_TOKEN'] as const) {
      expect(config[name]).toBeUndefined();
    }
  });
});
