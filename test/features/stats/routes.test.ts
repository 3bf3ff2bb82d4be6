// GET /stats shows the figures of the caller's brands, folded or not, and has a point for each interval.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createBrand } from '../../../src/features/brands/service.ts';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';

let api: TestApi;
let secondBrand: number;

beforeAll(async () => {
  api = await startTestApi();
  secondBrand = await createBrand(api.database.pool, { accountId: api.accountId, companyName: 'Second' });
});
afterAll(() => api.close());
beforeEach(() => api.database.pool.query('truncate stat_changes, stat_counts, stat_hours'));

const read = (query: string, token = api.userJwt) => api.request('GET', `/v1/my/stats?${query}`, { token });

interface Happened {
  brandId?: number;
  source?: string;
  channel?: string;
  count?: number;
}

/** Adds a change that is not folded. */
async function change(slot: string, name: string, happened: Happened = {}): Promise<void> {
  const { brandId = api.brandId, source = 'api', channel = 'email', count = 1 } = happened;
  await api.database.pool.query(
    `insert into stat_changes (brand_id, slot, source, channel, name, count) values ($1, $2, $3, $4, $5, $6)`,
    [brandId, slot, source, channel, name, count],
  );
}

/** Adds figures that are folded. */
async function count(slot: string, figures: Record<string, number>, happened: Happened = {}): Promise<void> {
  const { brandId = api.brandId, source = 'api', channel = 'email' } = happened;
  const names = Object.keys(figures);
  const columns = names.join(', ');
  const values = Object.values(figures).join(', ');
  for (const [table, at] of [
    ['stat_counts', '$2::timestamptz'],
    ['stat_hours', `date_trunc('hour', $2::timestamptz)`],
  ]) {
    await api.database.pool.query(
      `insert into ${table} as c (brand_id, slot, source, channel, ${columns}) values ($1, ${at}, $3, $4, ${values})
       on conflict (brand_id, slot, source, channel) do update
       set ${names.map((name) => `${name} = c.${name} + excluded.${name}`).join(', ')}`,
      [brandId, slot, source, channel],
    );
  }
}

const pointsOf = (body: TestBody, name: string, series = 0) =>
  ((body.series?.[series]?.points ?? []) as unknown as TestBody[]).map((point) => [point.at, point[name]]);

describe('GET /stats', () => {
  it('is refused without credentials, and to test keys', async () => {
    expect((await api.request('GET', '/v1/my/stats', { token: null })).status).toBe(401);
    const refused = await read('', api.testApiKey);
    expect([refused.status, refused.body.error?.code ?? refused.body.code]).toEqual([403, 'test_key']);
  });

  it('adds folded and unfolded figures', async () => {
    await count('2026-03-01T10:15Z', { sent: 5, opened: 2, unsubscribed: 1 });
    await count('2026-03-02T23:45Z', { sent: 1 });
    await change('2026-03-01T10:15Z', 'sent', { count: 3 });
    await change('2026-03-01T00:00Z', 'sent');
    await change('2026-03-02T00:00Z', 'clicked', { count: 4 });
    const { status, body } = await read('from=2026-03-01&to=2026-03-03');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      from: '2026-03-01T00:00:00.000Z',
      to: '2026-03-04T00:00:00.000Z',
      interval: 'day',
      timezone: 'UTC',
      totals: { sent: 10, delivered: 0, bounced: 0, complained: 0, opened: 2, clicked: 4, unsubscribed: 1 },
    });
    expect(body.series).toHaveLength(1);
    expect(pointsOf(body, 'sent')).toEqual([
      ['2026-03-01T00:00:00.000Z', 9],
      ['2026-03-02T00:00:00.000Z', 1],
      ['2026-03-03T00:00:00.000Z', 0],
    ]);
  });

  it.each([
    ['Asia/Kolkata', '2026-02-28T18:15Z', '2026-02-28T18:30Z', '2026-03-01T18:15Z', '2026-03-01T18:30Z'],
    ['Asia/Kathmandu', '2026-02-28T18:00Z', '2026-02-28T18:15Z', '2026-03-01T18:00Z', '2026-03-01T18:15Z'],
    ['America/New_York', '2026-03-01T04:45Z', '2026-03-01T05:00Z', '2026-03-02T04:45Z', '2026-03-02T05:00Z'],
  ])('lets the clocks of %s decide what a day is', async (zone, before, first, last, after) => {
    for (const [at, sent] of [
      [before, 1],
      [first, 10],
      [last, 100],
      [after, 1_000],
    ] as const) {
      await count(at, { sent });
      await change(at, 'sent', { count: sent });
    }
    const { body } = await read(`from=2026-03-01&to=2026-03-01&timezone=${zone}`);
    expect(body.totals?.sent).toBe(220);
    expect(new Date(String(body.from)).getTime()).toBe(Date.parse(first));
  });

  it('has a point for each hour', async () => {
    await change('2026-03-01T11:45Z', 'delivered');
    const { body } = await read('from=2026-03-01T10:07:00Z&to=2026-03-01T11:50:00Z&interval=hour');
    expect(pointsOf(body, 'delivered')).toEqual([
      ['2026-03-01T10:00:00.000Z', 0],
      ['2026-03-01T11:00:00.000Z', 1],
    ]);
    expect(body.to).toBe('2026-03-01T12:00:00.000Z');
  });

  it('shows the last 30 days by default', async () => {
    const { body } = await read('');
    const points = pointsOf(body, 'sent');
    expect(points).toHaveLength(30);
    const today = new Date();
    today.setUTCHours(0, 0, 0, 0);
    expect(points.at(-1)?.[0]).toBe(today.toISOString());
  });

  it('groups by source, channel and brand, and filters', async () => {
    await change('2026-03-01T10:00Z', 'sent', { source: 'campaign', count: 1 });
    await count('2026-03-01T10:00Z', { sent: 10 }, { source: 'flow', channel: 'sms' });
    await change('2026-03-01T10:00Z', 'sent', { brandId: secondBrand, count: 100 });
    const groups = async (query: string) => {
      const { body } = await read(`from=2026-03-01&to=2026-03-01&${query}`);
      return (body.series as unknown as TestBody[]).map(({ brand_id, source, channel, points }) => [
        brand_id ?? source ?? channel,
        points?.[0]?.sent,
      ]);
    };
    expect(await groups('group_by=source')).toEqual([
      ['campaign', 1],
      ['flow', 10],
      ['api', 100],
    ]);
    expect(await groups('group_by=channel')).toEqual([
      ['email', 101],
      ['sms', 10],
    ]);
    expect(await groups('group_by=brand')).toEqual([
      [api.brandId, 11],
      [secondBrand, 100],
    ]);
    expect(await groups('group_by=source&source=flow')).toEqual([['flow', 10]]);
    expect(await groups('source=flow&channel=email')).toEqual([[null, 0]]);
    expect(await groups(`brand_id=${secondBrand}`)).toEqual([[null, 100]]);
  });

  it('shows a key its own brand, and no caller another account', async () => {
    await change('2026-03-01T10:00Z', 'sent', { brandId: secondBrand, count: 100 });
    await change('2026-03-01T10:00Z', 'sent', { brandId: api.other.brandId, count: 1_000 });
    await change('2026-03-01T10:00Z', 'sent');
    const period = 'from=2026-03-01&to=2026-03-01';
    const sent = async (query: string, token: string) => {
      const { status, body } = await read(`${period}${query}`, token);
      return status === 200 ? body.totals?.sent : status;
    };
    expect(await sent('', api.apiKey)).toBe(1);
    expect(await sent('', api.userJwt)).toBe(101);
    expect(await sent('', api.other.userJwt)).toBe(1_000);
    expect(await sent(`&brand_id=${secondBrand}`, api.apiKey)).toBe(404);
    expect(await sent(`&brand_id=${api.other.brandId}`, api.userJwt)).toBe(404);
    expect((await read(`${period}&group_by=brand`, api.apiKey)).body.series).toHaveLength(1);
  });

  it('uses the time zone of the brand, if there is only one', async () => {
    await api.database.pool.query(`update brands set timezone = 'Asia/Kolkata' where id = $1`, [api.brandId]);
    expect((await read('', api.apiKey)).body.timezone).toBe('Asia/Kolkata');
    expect((await read(`brand_id=${api.brandId}`)).body.timezone).toBe('Asia/Kolkata');
    expect((await read('')).body.timezone).toBe('UTC');
    expect((await read('timezone=Europe/Berlin', api.apiKey)).body.timezone).toBe('Europe/Berlin');
    await api.database.pool.query('update brands set timezone = null');
  });

  it.each([
    ['from=yesterday', 'from'],
    ['from=2026-02-30', 'from'],
    ['to=2026-03-01T10:00', 'to'],
    ['from=1999-12-31', 'from'],
    ['from=2026-03-02&to=2026-03-01', 'to'],
    ['from=2026-03-02T10:00:00Z&to=2026-03-02T10:00:00Z', 'to'],
    ['from=2999-01-01', 'from'],
    ['timezone=Mars/Olympus', 'timezone'],
    ['timezone=%2B05:30', 'timezone'],
    ['interval=week', 'interval'],
    ['from=2000-01-01&to=2999-12-31', 'interval'],
    ['from=2026-01-01&to=2026-02-14&interval=hour', null],
    ['from=2026-01-01&to=2026-02-15&interval=hour', 'interval'],
    ['from=2026-01-01&to=2026-12-31&group_by=source', null],
    ['from=2026-01-01&to=2027-01-02&group_by=source', 'interval'],
  ])('with %s refuses %s', async (query, field) => {
    const { status, body } = await read(query);
    expect([status, Object.keys(body.error?.validation_errors ?? body.validation_errors ?? {})]).toEqual(
      field === null ? [200, []] : [422, [field]],
    );
  });
});
