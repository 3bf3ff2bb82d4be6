// The worker repeats a scrape once if it is killed during the scrape.
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createGuard, type Guard } from '../../src/local/machine/guard.ts';
import { startTestApi, TEST_SECRET, type TestApi } from '../support/api.ts';
import { createRole, type Role } from '../support/crash/role.ts';
import { useEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { createFastFolder } from '../support/open-folder.ts';
import { startWebsites, type Websites } from '../support/websites.ts';

const folder = createFastFolder('carillon-scrape-');

let api: TestApi;
let sites: Websites;
let guard: Guard;
let worker: Role;

beforeAll(async () => {
  const home = join(folder, 'home');
  await mkdir(home);
  const local = { SCRAPE_ALLOW: '127.0.0.1', CARILLON_HOME: home };
  const { address, namespace } = await useEngine();
  [api, sites] = await Promise.all([startTestApi({ env: local }), startWebsites()]);
  guard = createGuard();
  const settings = {
    ...local,
    DATABASE_URL: api.config.DATABASE_URL ?? '',
    APP_SECRET: TEST_SECRET,
    EMAIL_PROVIDER_URL: 'smtp://127.0.0.1:9?tls=off&name=none',
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    OPS_PORT: '0',
    LOG_LEVEL: 'warn',
  };
  worker = createRole({ name: 'worker', role: 'worker', folder, guard, settings });
  await worker.start();
}, 300_000);
afterAll(async () => {
  await worker.kill();
  await guard.close();
  await Promise.all([api.close(), sites.close()]);
  await rm(folder, { recursive: true, force: true });
}, 60_000);

it('a scrape is done once more if the worker is killed in the middle of it', async () => {
  let hangs = true;
  sites.handlers['127.0.0.1'] = ({ url }, response) => {
    if (url === '/robots.txt') response.writeHead(404).end();
    else if (!hangs) response.setHeader('content-type', 'text/html').end('<title>Survivor Ltd</title>');
  };
  const posted = await api.request('POST', '/v1/my/brand/scrape', { body: { url: sites.url('127.0.0.1') } });
  expect(posted.status).toBe(202);
  await eventually(() => expect(sites.requests).toContain('GET 127.0.0.1/'), 60_000);
  await worker.kill();
  hangs = false;
  await worker.start();
  const brand = await eventually(async () => {
    const { body } = await api.request('GET', '/v1/my/brand');
    expect(body.scrape?.status).toBe('completed');
    return body;
  }, 240_000);
  expect(brand.company_name).toBe('Acme');
  expect(brand.scrape?.fields_found).toEqual(['company_name']);
  expect(sites.requests.filter((each) => each === 'GET 127.0.0.1/')).toHaveLength(2);
}, 400_000);
