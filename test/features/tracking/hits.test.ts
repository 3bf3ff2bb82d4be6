// Clicks and opens by people are reported once each, and those by scanners are not.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import pino from 'pino';
import { decideFetches, forgetFetches } from '../../../src/features/tracking/decisions.ts';
import { createHitRecorder } from '../../../src/features/tracking/hit-recorder.ts';
import { type Hit, MAX_FETCHES, storeHits } from '../../../src/features/tracking/hits.ts';
import type { TrackedTarget } from '../../../src/features/tracking/tokens.ts';
import { upkeep } from '../../../src/features/upkeep.ts';
import { type TestApi, startTestApi } from '../../support/api.ts';
import { testEvents } from '../../support/events.ts';
import { eventually } from '../../support/eventually.ts';
import {
  CHROME,
  GMAIL_PROXY,
  hitOn,
  targetsOf,
  writeTrackedMail,
  YAHOO_PROXY,
} from '../../support/tracking.ts';
import { addWebhook } from '../../support/webhooks.ts';

let api: TestApi;
let pool: pg.Pool;
let mail: TrackedTarget[];
let messageId: number;
/** A time today. */
const start = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000);
const after = (seconds: number) => new Date(start.getTime() + seconds * 1_000);

beforeAll(async () => {
  api = await startTestApi();
  pool = api.database.pool;
  await addWebhook(api.database, api, 'https://hooks.example.com/', ['email.opened', 'email.clicked']);
});
afterAll(() => api.close());

/** Writes an email with this many links. */
async function newMail(links: number): Promise<void> {
  messageId = await writeTrackedMail(api.database, api);
  mail = targetsOf(api, messageId, links);
}

beforeEach(() => newMail(5));

const pixel = () => mail[0] as TrackedTarget;
const link = (n: number) => mail[n] as TrackedTarget;
const store = (...hits: Hit[]) => storeHits(pool, hits);

async function decideAll(asOf = after(3_500)): Promise<void> {
  while ((await decideFetches({ pool, events: testEvents }, asOf)).fetches > 0);
}

interface SeenEvent {
  type: string;
  url?: string;
  user_agent?: string;
}

async function eventsOf(id = messageId): Promise<SeenEvent[]> {
  const { rows } = await pool.query<{ type: string; data: SeenEvent }>(
    `select type, data from events where data->>'message_id' = $1 order by occurred_at, data->>'url'`,
    [String(id)],
  );
  return rows.map(({ type, data: { url, user_agent } }) => ({
    type,
    ...(url ? { url } : {}),
    ...(user_agent ? { user_agent } : {}),
  }));
}

async function hitsOf(id = messageId): Promise<{ link: number; is_bot: boolean; reason: string | null }[]> {
  const { rows } = await pool.query<{ link: number; is_bot: boolean; reason: string | null }>(
    'select link, is_bot, reason from tracking_hits where message_id = $1 order by created_at, link',
    [id],
  );
  return rows;
}

const clicked = (n: number) => ({ type: 'email.clicked', url: link(n).url, user_agent: CHROME });

describe('a click', () => {
  it('is reported once for each link, with its URL and browser', async () => {
    await store(hitOn(link(2), after(0)), hitOn(link(2), after(1)), hitOn(link(4), after(30)));
    await decideAll();
    await store(hitOn(link(2), after(100)), hitOn(link(2), after(2_000)));
    await decideAll();
    expect(await eventsOf()).toEqual([clicked(2), clicked(4)]);
    const { body } = await api.request('GET', `/v1/my/messages/${messageId}`);
    expect(body.clicked_at).toBe(after(0).toISOString());
    expect(body.opened_at).toBeNull();
    expect(body.events).toEqual([
      {
        type: 'clicked',
        attempt: 1,
        occurred_at: after(0).toISOString(),
        data: { url: link(2).url, user_agent: CHROME },
      },
      {
        type: 'clicked',
        attempt: 1,
        occurred_at: after(30).toISOString(),
        data: { url: link(4).url, user_agent: CHROME },
      },
    ]);
  });

  it('is decided after ten seconds, when all fetches of a burst are known', async () => {
    await store(hitOn(link(1), after(0)));
    await decideAll(after(9));
    expect(await eventsOf()).toEqual([]);
    await decideAll(after(13));
    expect(await eventsOf()).toEqual([clicked(1)]);
  });

  it('is decided at once if the message has only one link', async () => {
    await newMail(1);
    await store(hitOn(link(1), after(0)));
    await decideAll(after(0));
    expect(await eventsOf()).toEqual([clicked(1)]);
  });

  it.each([
    ['HEAD requests', { method: 'HEAD' }, 'head'],
    ['requests that prefetch', { purpose: 'prefetch;anonymous-client-ip' }, 'prefetch'],
    ['requests without a browser', { userAgent: '' }, 'no_user_agent'],
    ['scanners', { userAgent: `${CHROME} Barracuda` }, 'scanner'],
    ['headless browsers', { userAgent: CHROME.replace('Chrome', 'HeadlessChrome') }, 'scanner'],
    ['programs', { userAgent: 'python-requests/2.32' }, 'bot'],
  ])('is not reported for %s', async (_what, changes, reason) => {
    await newMail(1);
    await store(hitOn(link(1), after(0), changes), hitOn(pixel(), after(1), changes));
    await decideAll();
    expect(await eventsOf()).toEqual([]);
    expect(await hitsOf()).toEqual([
      { link: 1, is_bot: true, reason },
      { link: 0, is_bot: true, reason },
    ]);
  });
});

describe('a storm of scanners', () => {
  /** Each scanner fetches every link within 3 s, from its own network, with a browser's user agent. */
  const storm = (scanners: number) =>
    Array.from({ length: scanners }, (_, n) =>
      [1, 2, 3, 4, 5].map((each) => hitOn(link(each), after(n + each / 2), { ip: `198.51.${n}.${each}` })),
    ).flat();

  it('of fifty on one message reports no click, and then one person reports one', async () => {
    for (const hit of storm(50)) await store(hit);
    await decideAll();
    expect(await eventsOf()).toEqual([]);
    const hits = await hitsOf();
    expect(hits).toHaveLength(100);
    expect(hits.every(({ is_bot, reason }) => is_bot && reason === 'all_links')).toBe(true);
    const overflow = await pool.query('select hits from tracking_overflow where message_id = $1', [
      messageId,
    ]);
    expect(overflow.rows).toEqual([{ hits: 150 }]);

    await store(hitOn(link(3), after(200)));
    await decideAll();
    await decideAll();
    expect(await eventsOf()).toEqual([clicked(3)]);
  });

  it('is recognized if its parts are stored and decided out of order', async () => {
    const hits = storm(3);
    await store(...hits.slice(8));
    await decideFetches({ pool, events: testEvents }, after(5));
    await store(...hits.slice(0, 8).reverse());
    await decideAll();
    expect(await eventsOf()).toEqual([]);
  });

  it('that omits one link counts as people: timing alone never decides', async () => {
    await store(...[1, 2, 3, 4].map((each) => hitOn(link(each), after(0))));
    await decideAll();
    expect(await eventsOf()).toHaveLength(4);
  });

  it('counts a link that a person clicked before as fetched', async () => {
    await store(hitOn(link(1), after(0)));
    await decideAll(after(20));
    await store(...[1, 2, 3, 4, 5].map((each) => hitOn(link(each), after(60))));
    await decideAll();
    expect(await eventsOf()).toEqual([clicked(1)]);
  });

  it('counts links that were fetched by HEAD', async () => {
    const heads = [1, 2, 3].map((each) => hitOn(link(each), after(0), { method: 'HEAD' }));
    await store(...heads, hitOn(link(4), after(4)), hitOn(link(5), after(9)));
    await decideAll();
    expect(await eventsOf()).toEqual([]);
  });
});

describe('an open', () => {
  it.each([
    ['Gmail’s proxy', GMAIL_PROXY],
    ['Yahoo’s proxy', YAHOO_PROXY],
  ])('is reported at once if %s loads the pixel', async (_who, userAgent) => {
    await store(hitOn(pixel(), after(0), { userAgent }));
    await store(hitOn(pixel(), after(60), { userAgent }));
    await decideAll(after(60));
    expect(await eventsOf()).toEqual([{ type: 'email.opened', user_agent: userAgent }]);
    const { body } = await api.request('GET', `/v1/my/messages/${messageId}`);
    expect(body.opened_at).toBe(after(0).toISOString());
    expect(body.clicked_at).toBeNull();
  });

  it('is stored but not reported if Apple’s privacy proxy loads the pixel', async () => {
    await store(hitOn(pixel(), after(0), { userAgent: 'Mozilla/5.0' }));
    await decideAll();
    expect(await eventsOf()).toEqual([]);
    expect(await hitsOf()).toEqual([{ link: 0, is_bot: false, reason: 'privacy_proxy' }]);
  });

  it('is not reported if a scanner loads the pixel with all links', async () => {
    await store(...mail.map((target) => hitOn(target, after(0))));
    await decideAll();
    expect(await eventsOf()).toEqual([]);
    await store(hitOn(pixel(), after(100)));
    await decideAll();
    expect(await eventsOf()).toEqual([{ type: 'email.opened', user_agent: CHROME }]);
  });
});

describe('events', () => {
  it('are published once by four concurrent workers', async () => {
    const ids: number[] = [];
    for (let n = 0; n < 40; n += 1) {
      await newMail(2);
      ids.push(messageId);
      await store(hitOn(link(1), after(0)), hitOn(link(1), after(1)), hitOn(pixel(), after(2)));
    }
    await Promise.all(Array.from({ length: 4 }, () => decideAll()));
    const seen = await Promise.all(ids.map(eventsOf));
    expect(seen.every((each) => each.map(({ type }) => type).join() === 'email.clicked,email.opened')).toBe(
      true,
    );
  });

  it('are published exactly once if a worker dies before its commit', async () => {
    await store(hitOn(link(1), after(0)));
    const dying = { ...testEvents, publish: () => Promise.reject(new Error('killed')) };
    await expect(decideFetches({ pool, events: dying }, after(60))).rejects.toThrow('killed');
    expect(await eventsOf()).toEqual([]);
    await decideAll();
    expect(await eventsOf()).toEqual([clicked(1)]);
  });

  it('are not published for another account’s message', async () => {
    await store(hitOn({ ...link(1), accountId: api.other.accountId }, after(0)));
    await decideAll();
    expect(await eventsOf()).toEqual([]);
    const { body } = await api.request('GET', `/v1/my/messages/${messageId}`);
    expect(body.clicked_at).toBeNull();
  });

  it('are not published after the brand has turned tracking off, not even about earlier mail', async () => {
    const set = (opens: boolean, clicks: boolean) =>
      pool.query('update brands set track_opens = $2, track_clicks = $3 where id = $1', [
        api.brandId,
        opens,
        clicks,
      ]);
    await set(true, false);
    await store(hitOn(link(1), after(0)), hitOn(pixel(), after(20)));
    await decideAll();
    expect((await eventsOf()).map(({ type }) => type)).toEqual(['email.opened']);
    await newMail(5);
    await set(false, true);
    await store(hitOn(link(1), after(0)), hitOn(pixel(), after(20)));
    await decideAll();
    await set(true, true);
    expect(await eventsOf()).toEqual([clicked(1)]);
    // The message shows both: only the events stop.
    const { body } = await api.request('GET', `/v1/my/messages/${messageId}`);
    expect([body.opened_at, body.clicked_at]).toEqual([after(20).toISOString(), after(0).toISOString()]);
  });

  it('are not published for a message that was removed', async () => {
    await store(hitOn({ ...link(1), messageId: 2 ** 45 }, after(0)));
    await decideAll();
    const { rows } = await pool.query('select 1 from message_interactions where message_id = $1', [2 ** 45]);
    expect(rows).toEqual([]);
  });
});

describe('upkeep', () => {
  it('deletes fetches that are no longer evidence', async () => {
    await store(hitOn(link(1), after(0)), hitOn(link(2), after(0), { method: 'HEAD' }));
    await decideAll();
    await forgetFetches(pool, after(30));
    const count = 'select count(*) from tracking_fetches where message_id = $1';
    expect((await pool.query(count, [messageId])).rows).toEqual([{ count: 2 }]);
    await forgetFetches(pool, after(90));
    expect((await pool.query(count, [messageId])).rows).toEqual([{ count: 0 }]);
  });

  it('truncates addresses after 30 days', async () => {
    await pool.query(`update tracking_addresses set truncated_before = $1`, [after(-600)]);
    await store(
      hitOn(link(1), after(0)),
      hitOn(link(2), after(0), { ip: '2001:db8:1:2:3:4:5:6' }),
      hitOn(link(3), after(0), { ip: null }),
      hitOn(link(4), after(1_200)),
    );
    const task = upkeep.tasks.find(({ name }) => name === 'tracking_addresses');
    const deps = {
      config: api.config,
      database: api.database,
      log: pino({ level: 'silent' }),
      partitions: [],
      processWork: [],
    };
    await task?.run(deps, after(30 * 86_400 + 600), () => undefined);
    const { rows } = await pool.query<{ ip: string }>(
      'select ip::text as ip from tracking_hits where message_id = $1 order by link',
      [messageId],
    );
    expect(rows.map(({ ip }) => ip)).toEqual(['203.0.113.0/24', '2001:db8:1::/48', null, '203.0.113.7/32']);
  });
});

function recorder(hitPool: pg.Pool, persistMs?: number) {
  const counted = { lost: 0 };
  const record = createHitRecorder({
    pool: hitPool,
    log: pino({ level: 'silent' }),
    onLost: (hits) => (counted.lost += hits),
    persistMs,
  });
  return { record, counted };
}

it('gives up hits that cannot be stored, and counts them', async () => {
  const away = new pg.Pool({ host: '127.0.0.1', port: 1, connectionTimeoutMillis: 1_000 });
  const { record, counted } = recorder(away, 100);
  await Promise.all(Array.from({ length: 20 }, () => record(hitOn(link(1), after(0)))));
  await eventually(() => expect(counted.lost).toBe(20));
  await away.end();
});

it('stores hits late if the database does not accept them at once', async () => {
  const impatient = new pg.Pool({ connectionString: api.database.url, statement_timeout: 300 });
  const { record, counted } = recorder(impatient);
  const blocker = await pool.connect();
  try {
    await blocker.query('begin; lock table tracking_hits in exclusive mode');
    // No request waits for more than a second, in which some statements time out.
    await Promise.all(Array.from({ length: 20 }, (_, n) => record(hitOn(link(1 + (n % 5)), after(n)))));
    expect(await hitsOf()).toEqual([]);
  } finally {
    await blocker.query('rollback');
    blocker.release();
  }
  await eventually(async () => expect(await hitsOf()).toHaveLength(20));
  expect(counted.lost).toBe(0);
  await impatient.end();
});

describe('data that the database refuses', () => {
  it('loses only its own hit', async () => {
    const { record, counted } = recorder(pool);
    const addresses = Array.from({ length: 40 }, (_, n) => (n % 20 === 3 ? 'no address' : '203.0.113.7'));
    await Promise.all(addresses.map((ip, n) => record(hitOn(link(1 + (n % 5)), after(n), { ip }))));
    expect(await hitsOf()).toHaveLength(38);
    expect(counted.lost).toBe(2);
  });

  it('does not prevent other clicks from being decided', async () => {
    await pool.query(
      `alter table message_interactions add constraint refused check (url is distinct from 'https://refused.test/')`,
    );
    await newMail(1);
    await store(hitOn({ ...link(1), url: 'https://refused.test/' }, after(0)));
    const refusedId = messageId;
    await newMail(1);
    await store(hitOn(link(1), after(1)));
    const decided = await decideFetches({ pool, events: testEvents }, after(60));
    await pool.query('alter table message_interactions drop constraint refused');
    expect(decided.refused.map((each) => each.messageId)).toEqual([refusedId]);
    expect(await eventsOf()).toEqual([clicked(1)]);
    expect(await eventsOf(refusedId)).toEqual([]);
    expect(await decideFetches({ pool, events: testEvents }, after(60))).toMatchObject({ fetches: 0 });
  });
});

it('keeps the fetches of a storm on a mail with a thousand links within bounds', async () => {
  await newMail(1_000);
  for (let second = 0; second < 5; second += 1) {
    const sweep = mail.slice(1).map((target) => hitOn(target, after(second)));
    await store(...sweep.slice(0, 500));
    await store(...sweep.slice(500));
  }
  const { rows } = await pool.query('select count(*) from tracking_fetches where message_id = $1', [
    messageId,
  ]);
  expect(rows).toEqual([{ count: MAX_FETCHES }]);
  const overflow = await pool.query('select hits from tracking_overflow where message_id = $1', [messageId]);
  expect(overflow.rows).toEqual([{ hits: 4_900 }]);
  await decideAll();
  expect(await eventsOf()).toEqual([]);
});
