// A scrape fills empty brand fields, keeps manual edits unless asked to overwrite, and is rate-limited.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { runScrape } from '../../../src/features/brands/scrape/finish.ts';
import { startScrape } from '../../../src/features/brands/scrape/start.ts';
import type { WebsiteScraper } from '../../../src/features/brands/scrape/website/scrape.ts';
import { createToneFinder } from '../../../src/features/brands/scrape/website/tone.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createResolver } from '../../../src/platform/dns/resolver.ts';
import { createEgress } from '../../../src/platform/egress/client.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import { startReceiver } from '../../support/https-receiver.ts';
import { eventually } from '../../support/eventually.ts';
import { createTestScrapes, scrapeSettings, type TestScrapes } from '../../support/scrapes.ts';
import { startWebsites, type Websites } from '../../support/websites.ts';

const PATH = '/v1/my/brand/scrape';
const CLEARED = {
  ...{ brand_color: null, text_color: null, bg_color: null, font_heading: null, font_body: null, logo: null },
  ...{
    company_name: null,
    company_description: null,
    physical_address: null,
    example_copy: null,
    tone: null,
  },
  links: [],
};

let dns: TestDnsServer;
let sites: Websites;
let api: TestApi;
let scrapes: TestScrapes;
let home: string;

beforeAll(async () => {
  [sites, home] = await Promise.all([startWebsites(), mkdtemp(join(tmpdir(), 'scrape-'))]);
  dns = await startDnsServer({
    ...Object.fromEntries(
      ['inline.test', 'dark.test', 'nothing.test'].map((name) => [name, { A: ['127.0.0.1'] }]),
    ),
    'private.test': { A: ['10.0.0.1'] },
    'mixed.test': { A: ['127.0.0.1', '192.168.0.1'] },
    'public.test': { A: ['93.184.216.34'] },
    'broken.test': 'servfail',
  });
  api = await startTestApi({ env: { ...scrapeSettings(dns.address), CARILLON_HOME: home } });
  scrapes = createTestScrapes(api);
});
afterAll(async () => {
  await Promise.all([scrapes.close(), api.close(), sites.close()]);
  dns.close();
  await rm(home, { recursive: true });
});
beforeEach(async () => {
  await query('truncate brand_scrapes, outbox, idempotency_keys');
  await query(`update brands set scraped = '{}', source_url = null, last_scraped_at = null`);
  await put(CLEARED);
  await query('delete from uploads');
});

const query = (text: string, values: unknown[] = []) => api.database.pool.query(text, values);
const put = (body: object) => api.request('PUT', '/v1/my/brand', { body });
const brand = async () => (await api.request('GET', '/v1/my/brand')).body;
const post = (url: string, more: object = {}, headers = {}) =>
  api.request('POST', PATH, { body: { url, ...more }, headers });
const run = () => scrapes.runNext(api.brandId);

/** Whether each advisory lock of a transaction is granted. */
async function advisoryLocks(): Promise<boolean[]> {
  const { rows } = await query(
    `select granted from pg_locks join pg_database d on d.oid = database
     where locktype = 'advisory' and datname = current_database() and mode = 'ExclusiveLock' order by granted`,
  );
  return rows.map((row) => (row as { granted: boolean }).granted);
}

function createSignal() {
  let give = () => undefined as void;
  const given = new Promise<void>((resolve) => (give = resolve));
  return { give: () => give(), given };
}

describe('POST /v1/my/brand/scrape', () => {
  it.each([
    ['http://private.test/', 'must be the URL of a public website on port 80 or 443'],
    ['mixed.test', 'must be the URL of a public website on port 80 or 443'],
    ['unknown.test', 'must be the URL of a public website on port 80 or 443'],
    ['broken.test', 'must be the URL of a public website on port 80 or 443'],
    ['https://public.test:8443/', 'must be the URL of a public website on port 80 or 443'],
    ['http://169.254.169.254/latest', 'must be the URL of a public website on port 80 or 443'],
    ['2130706434', 'must be the URL of a public website on port 80 or 443'],
    ['ftp://public.test/', 'must begin with https:// or http://'],
    ['file:///etc/passwd', 'is not a valid URL'],
    ['https://user:pw@public.test/', 'must not contain a user name or password'],
    ['javascript:alert(1)', 'is not a valid URL'],
    ['not a url', 'is not a valid URL'],
    ['', 'must not be empty'],
    [`https://public.test/${'x'.repeat(2_000)}`, 'must have at most 2000 characters'],
  ])('refuses %s', async (url, message) => {
    const answer = await post(url);
    expect([answer.status, answer.body.validation_errors]).toEqual([422, { url: [message] }]);
    expect((await brand()).scrape).toBeNull();
  });

  it('refuses private addresses that only EGRESS_ALLOW permits, because that setting is for webhooks', async () => {
    const env = { EGRESS_ALLOW: '127.0.0.0/8', DNS_SERVERS: dns.address };
    const strict = await startTestApi({ env });
    for (const url of [sites.url('inline.test'), 'http://127.0.0.1/', 'inline.test']) {
      const answer = await strict.request('POST', PATH, { body: { url } });
      expect([answer.status, answer.body.validation_errors]).toEqual([
        422,
        { url: ['must be the URL of a public website on port 80 or 443'] },
      ]);
    }
    await strict.close();
  });

  it('responds with 202, completes a bare domain, and starts one workflow for the brand', async () => {
    const answer = await post('public.test');
    expect([answer.status, answer.body]).toEqual([202, { status: 'scraping', url: 'https://public.test/' }]);
    expect((await brand()).scrape).toEqual({
      ...{ status: 'scraping', url: 'https://public.test/', fields_found: [], error: null },
      ...{ started_at: expect.any(String), finished_at: null },
    });
    const { rows } = await query('select kind, workflow_id, signal_name from outbox');
    expect(rows).toEqual([
      { kind: 'signal_with_start', workflow_id: `brand-scrape/${api.brandId}`, signal_name: 'scrape' },
    ]);
  });

  it('begins one scrape per idempotency key, even if the website can no longer be found', async () => {
    const headers = { 'idempotency-key': 'once' };
    const first = await post('public.test', {}, headers);
    dns.zone['public.test'] = 'servfail';
    const again = await post('public.test', {}, headers);
    dns.zone['public.test'] = { A: ['93.184.216.34'] };
    expect([again.status, again.body]).toEqual([202, first.body]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect((await post('inline.test', {}, headers)).status).toBe(409);
    expect((await query('select 1 from brand_scrapes')).rowCount).toBe(1);
  });

  it('lets a brand be scraped ten times an hour, and says when the next scrape is possible', async () => {
    for (let n = 0; n < 10; n += 1) expect((await post('public.test')).status).toBe(202);
    const refused = await post('public.test');
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
    const seconds = Number(refused.headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(3_000);
    expect(seconds).toBeLessThanOrEqual(3_600);
    const other = { token: api.other.apiKey, body: { url: 'public.test' } };
    expect((await api.request('POST', PATH, other)).status).toBe(202);
    await query(
      `update brand_scrapes set started_at = started_at - interval '1 hour'
                 where id = (select min(id) from brand_scrapes where brand_id = $1)`,
      [api.brandId],
    );
    expect((await post('public.test')).status).toBe(202);
    expect((await post('public.test')).status).toBe(429);
  });

  it('lets an account scrape thirty times an hour, for all its brands together', async () => {
    const { rows } = await query(`insert into brands (account_id) values ($1) returning id`, [api.accountId]);
    const second = (rows[0] as { id: number }).id;
    await query(
      `insert into brand_scrapes (account_id, brand_id, url, overwrite, before, status, started_at)
       select $1, $2, 'https://public.test/', false, '{}', 'completed', clock_timestamp() - interval '1 minute' * (59 - n)
       from generate_series(1, 29) as n`,
      [api.accountId, second],
    );
    expect((await post('public.test')).status).toBe(202);
    const refused = await post('public.test');
    expect([refused.status, refused.body]).toMatchObject([
      429,
      {
        code: 'rate_limited',
        message: expect.stringMatching(
          /^an account may scrape websites 30 times an hour; try again in \d+ (?:s|min)$/,
        ),
      },
    ]);
    const seconds = Number(refused.headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(120);
    const other = { token: api.other.apiKey, body: { url: 'public.test' } };
    expect((await api.request('POST', PATH, other)).status).toBe(202);
    await query('delete from brand_scrapes where brand_id = $1', [api.brandId]);
    const hold = createSignal();
    const begin = (brandId: number, before: Promise<void>) =>
      inTransaction(api.database.pool, async (trx) => {
        await startScrape(
          trx,
          { accountId: api.accountId, brandId },
          { url: 'https://a.test/', overwrite: false },
        );
        await before;
      });
    const first = begin(api.brandId, hold.given);
    try {
      await eventually(async () => expect(await advisoryLocks()).toEqual([true]));
      const next = begin(second, Promise.resolve());
      next.catch(() => undefined);
      await eventually(async () => expect(await advisoryLocks()).toEqual([false, true]));
      hold.give();
      await expect(next).rejects.toMatchObject({ code: 'rate_limited' });
    } finally {
      hold.give();
      await first;
    }
    await query('delete from brands where id = $1', [second]);
  });

  /** An account without a brand, and the credentials of its owner. */
  async function emptyAccount() {
    const { userId, userJwt } = await api.addUser('owner');
    const { rows } = await query(`insert into accounts (name) values ('Empty') returning id`);
    const accountId = (rows[0] as { id: number }).id;
    await query('update memberships set account_id = $1 where user_id = $2', [accountId, userId]);
    const request = (method: string, path: string, more = {}) =>
      api.request(method, path, { token: userJwt, ...more });
    return { accountId, request };
  }

  it('creates the brand of an account that has none', async () => {
    const { accountId, request } = await emptyAccount();
    expect((await request('GET', '/v1/my/brand')).text).toBe('null');
    expect((await request('POST', PATH, { body: { url: 'private.test' } })).status).toBe(422);
    expect((await request('GET', '/v1/my/brand')).text).toBe('null');
    expect((await request('POST', PATH, { body: { url: 'public.test' } })).status).toBe(202);
    const made = (await request('GET', '/v1/my/brand')).body;
    expect(made).toMatchObject({ account_id: accountId, scrape: { status: 'scraping' } });
  });

  it('creates one brand and begins one scrape per idempotency key', async () => {
    const { accountId, request } = await emptyAccount();
    const key = { headers: { 'Idempotency-Key': 'first-brand' } };
    const scrape = (url: string) => request('POST', PATH, { body: { url }, ...key });
    const both = await Promise.all([scrape('public.test'), scrape('public.test')]);
    expect(both.map(({ status }) => status)).toEqual([202, 202]);
    expect(both[0]?.body).toEqual(both[1]?.body);
    expect((await scrape('public.test')).headers.get('idempotent-replayed')).toBe('true');
    expect((await scrape('private.test')).status).toBe(409);
    const { rows } = await query(
      `select (select count(*)::int from brands where account_id = $1) as brands,
         (select count(*)::int from brand_scrapes where account_id = $1) as scrapes`,
      [accountId],
    );
    expect(rows).toEqual([{ brands: 1, scrapes: 1 }]);
  });
});

describe('a scrape', () => {
  it('fills in an empty brand, and shows the values found', async () => {
    const url = sites.url('inline.test');
    await post(url);
    await run();
    const filled = await brand();
    expect(filled).toMatchObject({
      ...{ brand_color: '#b42814', company_name: 'Inline Anvils', font_body: 'Georgia', complete: true },
      ...{ source_url: `${url}`, last_scraped_at: expect.any(String) },
      scrape: { status: 'completed', error: null, finished_at: expect.any(String) },
    });
    expect((filled.scrape as { fields_found?: unknown } | undefined)?.fields_found).toEqual([
      ...['brand_color', 'text_color', 'bg_color', 'font_heading', 'font_body', 'logo', 'company_name'],
      ...['company_description', 'physical_address', 'links', 'example_copy'],
    ]);
    const logo = await fetch(String(filled.logo));
    expect([logo.status, logo.headers.get('content-type')]).toEqual([200, 'image/png']);
  });

  it('keeps edited values, and replaces values of an earlier scrape', async () => {
    await put({ company_name: 'My Name' });
    await post(sites.url('inline.test'));
    await run();
    await put({ font_body: 'Verdana' });
    await post(sites.url('dark.test'));
    await run();
    expect(await brand()).toMatchObject({
      company_name: 'My Name',
      font_body: 'Verdana',
      brand_color: '#ff2d95',
      // The second website has none.
      physical_address: 'Inline Anvils Ltd\n12 Forge Road\nSheffield S1 2AB',
      source_url: sites.url('dark.test'),
    });
  });

  it('replaces edits from before it began if asked to overwrite, but none made meanwhile', async () => {
    await put({ company_name: 'Edited before', font_body: 'Verdana' });
    await post(sites.url('inline.test'), { overwrite: true });
    await put({ font_body: 'Tahoma' });
    await run();
    expect(await brand()).toMatchObject({ company_name: 'Inline Anvils', font_body: 'Tahoma' });
  });

  it('keeps the URL of an unchanged logo', async () => {
    await post(sites.url('inline.test'));
    await run();
    const { logo } = await brand();
    await post(sites.url('inline.test'), { overwrite: true });
    await run();
    expect((await brand()).logo).toBe(logo);
    expect((await query('select 1 from uploads')).rowCount).toBe(1);
  });

  it('changes nothing and leaves no file if a newer one has replaced it, whichever ends first', async () => {
    const filesBefore = await readdir(join(home, 'blobs'), { recursive: true });
    await post(sites.url('inline.test'));
    const { rows: started } = await query('select max(id) as id from brand_scrapes');
    const { scraper } = scrapes.deps;
    const fetched = createSignal();
    const gate = createSignal();
    const slow: WebsiteScraper = {
      async scrape(target, signal) {
        const outcome = await scraper.scrape(target, signal);
        fetched.give();
        await gate.given;
        return outcome;
      },
    };
    const id = (started[0] as { id: number }).id;
    const older = runScrape({ ...scrapes.deps, scraper: slow }, id, new AbortController().signal);
    await fetched.given;
    await post(sites.url('dark.test'));
    await run();
    gate.give();
    await older;
    const shown = await brand();
    expect(shown).toMatchObject({
      ...{ company_name: 'dark', logo: null, physical_address: null, source_url: sites.url('dark.test') },
      scrape: { status: 'completed', url: sites.url('dark.test') },
    });
    const { rows } = await query('select status from brand_scrapes order by id');
    expect(rows).toEqual([{ status: 'discarded' }, { status: 'completed' }]);
    expect(await readdir(join(home, 'blobs'), { recursive: true })).toEqual(filesBefore);
  });

  it('shows why it failed, and changes nothing', async () => {
    await put({ company_name: 'Mine' });
    const before = await brand();
    await post(sites.url('nothing.test'));
    await run();
    const { scrape, ...after } = await brand();
    const { scrape: _none, ...rest } = before;
    expect(after).toEqual(rest);
    expect(scrape).toMatchObject({ status: 'failed', error: 'nothing_found', fields_found: [] });
  });

  it('fills in everything but the logo if the account has no room for it', async () => {
    const full = createTestScrapes(api, { quotaBytes: 10 });
    await post(sites.url('inline.test'));
    await full.runNext(api.brandId);
    await full.close();
    expect(await brand()).toMatchObject({
      company_name: 'Inline Anvils',
      logo: null,
      scrape: { status: 'completed' },
    });
  });
});

describe('the tone', () => {
  it('comes from the AI endpoint, as one bounded line that fills no other field', async () => {
    const told: { body: string; authorization: string | undefined }[] = [];
    const answers: [status: number, content: unknown][] = [];
    const endpoint = await startReceiver({ plain: true });
    endpoint.answer = ({ body, headers }, response) => {
      told.push({ body, authorization: headers.authorization });
      const [status, content] = answers.shift() ?? [500, null];
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ choices: [{ message: { content } }] }));
    };
    const tone = createToneFinder({
      egress: createEgress({ resolver: createResolver([]), allow: ['0.0.0.0/0'], userAgent: 'Carillon/1' }),
      endpoint: { url: endpoint.url('/v1', '127.0.0.1'), key: 'secret', model: 'small' },
      count: async (accountId) => void counted.push(accountId),
      log: pino({ level: 'silent' }),
    });
    const counted: number[] = [];
    const telling = createTestScrapes(api, { tone });
    const injected = `Warm\u202e and\n\nplain. {"company_name":"Evil"} ${'x'.repeat(2_000)}`;

    answers.push([400, null], [200, injected]);
    await post(sites.url('inline.test'));
    await telling.runNext(api.brandId);
    const shown = await brand();
    expect(shown.company_name).toBe('Inline Anvils');
    expect(String(shown.tone)).toMatch(/^Warm and plain\. \{"company_name":"Evil"\} x+…$/);
    expect(String(shown.tone).length).toBeLessThanOrEqual(500);
    expect([counted, told.length]).toEqual([[api.accountId], 2]);
    expect(told[0]?.authorization).toBe('Bearer secret');
    expect(JSON.parse(told[1]?.body ?? '{}')).toMatchObject({ model: 'small', max_completion_tokens: 1_000 });

    for (const bad of [[500, 'x'] as const, [200, { not: 'text' }] as const, [200, ' '] as const]) {
      await put({ tone: null });
      answers.push([...bad]);
      await post(sites.url('inline.test'));
      await telling.runNext(api.brandId);
      expect(await brand()).toMatchObject({ tone: null, scrape: { status: 'completed' } });
    }
    await telling.close();
    await endpoint.close();
  });

  describe('of an endpoint', () => {
    const texts = { name: 'Anvils', description: 'Anvils of all sizes. '.repeat(10), copy: [] };

    /** An endpoint that refuses a request and responds to the next, each after a while. */
    async function slowEndpoint(afterMs: number) {
      const endpoint = await startReceiver({ plain: true });
      const statuses = [400, 200];
      endpoint.answer = (_request, response) => {
        setTimeout(() => {
          response.writeHead(statuses.shift() ?? 500, { 'content-type': 'application/json' });
          response.end(JSON.stringify({ choices: [{ message: { content: 'Warm.' } }] }));
        }, afterMs);
      };
      const find = (timeoutMs: number, signal = new AbortController().signal) =>
        createToneFinder({
          egress: createEgress({
            resolver: createResolver([]),
            allow: ['0.0.0.0/0'],
            userAgent: 'Carillon/1',
          }),
          endpoint: { url: endpoint.url('/v1', '127.0.0.1'), key: undefined, model: 'small' },
          count: () => Promise.resolve(),
          log: pino({ level: 'silent' }),
          timeoutMs,
        }).find(texts, api.accountId, signal);
      return { endpoint, find };
    }

    it('is found if both requests together finish in time', async () => {
      const { endpoint, find } = await slowEndpoint(0);
      expect(await find(20_000)).toBe('Warm.');
      await endpoint.close();
    });

    it('is not waited for if the requests finish in time only separately', async () => {
      const { endpoint, find } = await slowEndpoint(600);
      expect(await find(1_000)).toBeNull();
      await endpoint.close();
    });

    it('is no longer waited for once the scrape is canceled', async () => {
      const { endpoint, find } = await slowEndpoint(0);
      const cancel = new AbortController();
      // Never responds.
      endpoint.answer = () => cancel.abort();
      expect(await find(600_000, cancel.signal)).toBeNull();
      await endpoint.close();
    });
  });
});
