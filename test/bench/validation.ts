import { startDnsServer, type TestDnsServer } from '../support/dns/server.ts';
import { median, percentile, rounded } from './machine.ts';
import { waitForApi } from './messages.ts';
import { cpuPer } from './process-usage.ts';
import { startInteractive, startRole } from './programs.ts';
import { openStage, type Stage } from './stage.ts';

export interface ValidationBenchOptions {
  candidates: number;
  domains: number;
  contacts: number;
  quotes: number;
}

const ROWS_AT_ONCE = 200_000;
const ALL = 1;
const CHECKED = 2;

/** Fills a brand. List 1 has all contacts, list 2 the candidates. Half of all contacts have a result. */
async function fill({ database, accountId, brandId }: Stage, options: ValidationBenchOptions): Promise<void> {
  const { contacts, candidates, domains } = options;
  const client = await database.pool.connect();
  await client.query('set statement_timeout = 0');
  await client.query('set synchronous_commit = off');
  for (let from = 1; from <= contacts; from += ROWS_AT_ONCE) {
    await client.query(
      `insert into contacts (id, account_id, brand_id, first_name, data, email, email_key, email_subscribed,
         email_created_at, email_updated_at)
       select n, $1, $2, 'Ada', '{"plan": "pro"}', a, a, true, now(), now()
       from generate_series($3::bigint, $4) n, lateral (select 'user' || n || '@company' || n % $5 || '.example.net' as a) e`,
      [accountId, brandId, from, Math.min(from + ROWS_AT_ONCE - 1, contacts), domains],
    );
  }
  await client.query(
    `insert into lists (id, account_id, brand_id, name) values (1, $1, $2, 'all'), (2, $1, $2, 'few')`,
    [accountId, brandId],
  );
  await client.query(
    `insert into list_members (list_id, contact_id)
     select $1::bigint, n from generate_series(1, $2::bigint) n union all select $3, n from generate_series(1, $4::bigint) n`,
    [ALL, contacts, CHECKED, candidates],
  );
  await client.query(
    `insert into contact_verdicts (contact_id, brand_id, email_key, verdict, reusable, checked_at)
     select id, brand_id, email_key, 'undeliverable', true, now() from contacts where id > $1 and id % 2 = 0`,
    [candidates],
  );
  await client.query('vacuum (analyze) contacts');
  await client.query('vacuum (analyze) list_members');
  await client.query('vacuum (analyze) contact_verdicts');
  client.release(true);
}

async function ask<T>({ apiPort, apiKey }: Stage, path: string, body: object): Promise<T & { ms: number }> {
  const startedAt = performance.now();
  const response = await fetch(`http://127.0.0.1:${apiPort}/v1/my${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${apiKey}` },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  const answer = (await response.json()) as T;
  return { ...answer, ms: performance.now() - startedAt };
}

async function quoted(stage: Stage, audience: object, quotes: number) {
  const times: number[] = [];
  for (let n = 0; n < quotes; n += 1) {
    times.push((await ask(stage, '/validation_operations/quote', audience)).ms);
  }
  return { median_ms: rounded(median(times)), max_ms: rounded(percentile(times, 1)) };
}

/** Domains of which every second one has a mail server. */
function fillZone(dns: TestDnsServer, domains: number): void {
  dns.zone['mx.example.net'] = { A: ['93.184.216.1'] };
  for (let n = 0; n < domains; n += 2) {
    dns.zone[`company${n}.example.net`] = { MX: [{ exchange: 'mx.example.net', preference: 10 }] };
  }
}

/** `npm run bench -- validation`: quotes over a large brand, and candidates/s with a cold and a warm DNS cache. */
export async function benchValidation(options: ValidationBenchOptions) {
  const stage = await openStage();
  const dns = await startDnsServer();
  fillZone(dns, options.domains);
  const api = startRole('api', { ...stage.settings, EMAIL_PROVIDER_URL: 'capture:' });
  const inputs = [stage.settings.DATABASE_URL ?? '', dns.address];
  const worker = await startInteractive('test/bench/validation-worker.ts', inputs, 'worker');
  try {
    await fill(stage, options);
    await waitForApi(stage.apiPort);
    const filters = [{ name: 'email', predicate: 'present' }];
    const segment = await ask<{ id: number }>(stage, '/segments', { name: 'all', filters });
    const quotes = {
      list: await quoted(stage, { list_id: ALL }, options.quotes),
      segment: await quoted(stage, { segment_id: segment.id }, options.quotes),
    };
    const run = async () => {
      const { id } = await ask<{ id: number }>(stage, '/validation_operations', { list_id: CHECKED });
      const before = stage.postgresUsage();
      const done = await worker.ask(String(id));
      await stage.database.pool.query('delete from contact_verdicts where contact_id <= $1', [
        options.candidates,
      ]);
      return {
        candidates_per_second: rounded(options.candidates / (done.seconds ?? 0), 0),
        worker_cpu_us_per_candidate: rounded(((done.cpu ?? 0) * 1e6) / options.candidates),
        postgres_cpu_us_per_candidate: cpuPer(before, stage.postgresUsage(), options.candidates),
        worker_peak_mib: rounded(done.peak ?? 0, 0),
      };
    };
    return { quotes, cold: await run(), warm: await run() };
  } finally {
    await worker.stop();
    await api.stop();
    dns.close();
    await stage.close();
  }
}
