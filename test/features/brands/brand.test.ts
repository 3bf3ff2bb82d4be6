// PUT /my/brand stores exactly the given fields, names every bad one, and shows only the caller's brand.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { addUpload } from '../../support/uploads.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

describe('PUT /v1/my/brand', () => {
  const put = (body: object) => api.request('PUT', '/v1/my/brand', { body });

  it('names every bad field, and changes nothing', async () => {
    const before = (await api.request('GET', '/v1/my/brand')).body;
    const answer = await put({
      brand_color: 'red',
      text_color: '#12345',
      bg_color: '#1234567',
      company_name: 'A\r\nB',
      font_body: 7,
      example_copy: ['x', 1],
      links: [{ url: 'javascript:alert(1)' }, { icon: 'x' }, { url: 'https://a.test', href: 'y' }],
      default_header: [],
      default_theme: { big: 'x'.repeat(33_000) },
      track_opens: 'yes',
      logo: 'nonsense',
      quiet_hours: { start: '25:00', end: '8', timezone: 'Mars/Olympus' },
      frequency_cap: { count: 0, per_seconds: 59, per_day: 1 },
      brand_colour: '#000000',
    });
    expect(answer.status).toBe(422);
    expect(answer.body.validation_errors).toEqual({
      brand_color: ['must be # and six hexadecimal digits'],
      text_color: ['must be # and six hexadecimal digits'],
      bg_color: ['must be # and six hexadecimal digits'],
      company_name: ['must not contain line breaks or control characters'],
      font_body: ['must be a string'],
      'example_copy.1': ['must be a string'],
      'links.0.url': ['must be a web link, or one such as mailto, tel, sms or webcal'],
      'links.1.url': ['is required'],
      'links.2.href': ['is not a known field'],
      default_header: ['must be an object'],
      default_theme: ['must have at most 32 KB'],
      track_opens: ['must be true or false'],
      'quiet_hours.start': ['must be a time such as 21:00'],
      'quiet_hours.end': ['must be a time such as 21:00'],
      'quiet_hours.timezone': ['must be the name of an IANA time zone, or contact'],
      'frequency_cap.count': ['must be at least 1'],
      'frequency_cap.per_seconds': ['must be at least 60'],
      'frequency_cap.per_day': ['is not a known field'],
      brand_colour: ['is not a known field; did you mean brand_color?'],
    });
    const logo = await put({ logo: 'javascript:alert(1)' });
    expect([logo.status, logo.body.validation_errors]).toEqual([
      422,
      { logo: ['must be a URL or the signed_id of an uploaded image'] },
    ]);
    expect((await api.request('GET', '/v1/my/brand')).body).toEqual(before);
  });

  it('stores every given field, keeps the others, and shows when the brand is complete', async () => {
    const fields = {
      brand_color: '#AABBCC',
      text_color: '#000000',
      bg_color: '#ffffff',
      font_heading: 'Georgia',
      font_body: 'Inter',
      style_notes: 'Short.\nFriendly.',
      tone: 'warm',
      company_description: 'Sells anvils',
      industry: 'Hardware',
      physical_address: '1 Road\nTown',
      company_name: 'Acme',
      example_copy: ['Hello'],
      links: [{ url: 'https://acme.test', icon: 'globe', title: 'Site' }],
      default_header: { logo: true },
      default_footer: { note: 'x' },
      default_theme: { radius: 4 },
      logo: 'https://acme.test/logo.png',
      track_opens: false,
      track_clicks: false,
      timezone: 'Europe/Berlin',
      quiet_hours: { start: '21:00', end: '08:00', timezone: 'contact' },
      frequency_cap: { count: 3, per_seconds: 86_400 },
      sms_stop_text: 'Reply STOP to unsubscribe',
    };
    const changed = await put(fields);
    expect(changed.status).toBe(200);
    expect(changed.body).toEqual({
      ...fields,
      id: api.brandId,
      account_id: api.accountId,
      revision: expect.any(Number),
      source_url: null,
      last_scraped_at: null,
      scrape: null,
      complete: true,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const partly = await put({ company_name: null });
    expect(partly.body).toMatchObject({ ...fields, company_name: null, complete: false });
    expect((await put({ ...(await api.request('GET', '/v1/my/brand')).body })).status).toBe(200);
  });

  it.each(['Asia/Kolkata', 'America/New_York', 'UTC'])('may be in the time zone %s', async (timezone) => {
    expect((await put({ timezone })).body.timezone).toBe(timezone);
  });

  it('has quiet hours in the time zone of the contact by default, and removes them with null', async () => {
    const { body } = await put({ quiet_hours: { start: '22:00', end: '07:30' } });
    expect(body.quiet_hours).toEqual({ start: '22:00', end: '07:30', timezone: 'contact' });
    const same = await put({ quiet_hours: { start: '22:00', end: '22:00' } });
    expect(same.body.validation_errors).toEqual({ 'quiet_hours.end': ['must differ from start'] });
    expect((await put({ quiet_hours: null, frequency_cap: null })).body).toMatchObject({
      ...{ quiet_hours: null, frequency_cap: null },
    });
  });

  it('stores objects unchanged, including the markers of the query library', async () => {
    const marked = { isRawInstance: true, client: {}, isObjectionQueryBuilderBase: true, $ref: '#/x' };
    const given = {
      default_header: marked,
      default_theme: { nested: [marked] },
      links: [],
      example_copy: [],
    };
    const answer = await put(given);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject(given);
  });

  it('shows an uploaded logo as a URL, and accepts that URL', async () => {
    const image = await addUpload(api, 'image/png');
    const { body } = await put({ logo: image });
    expect(body.logo).toBe(`${api.baseUrl}/uploads/${image}`);
    await put({ logo: body.logo });
    const { rows } = await api.database.pool.query<{ logo: string }>(
      'select logo from brands where id = $1',
      [api.brandId],
    );
    expect(rows[0]?.logo).toMatch(/^upload:\d+$/);
    const foreign = await put({ logo: await addUpload(api, 'image/png', api.other) });
    expect(foreign.status).toBe(422);
  });

  it('shows only the brand of the caller’s account', async () => {
    const brand = await api.request('GET', '/v1/my/brand', { token: api.other.apiKey });
    expect([brand.body.id, brand.body.company_name]).toEqual([api.other.brandId, 'Other Company']);
  });
});
