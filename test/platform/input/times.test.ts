// Times as exports, programs and people write them are read in the same way by JavaScript and by PostgreSQL.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { timeSql } from '../../../src/platform/input/time-sql.ts';
import { readTime, timeIn, withZone } from '../../../src/platform/input/times.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

/** Values, with the program or document that writes them so, and what they say. */
const zoned: [value: unknown, source: string, iso: string][] = [
  ['2027-06-30T12:00:00Z', 'RFC 3339, section 5.8', '2027-06-30T12:00:00.000Z'],
  ['2027-06-30t12:00:00z', 'RFC 3339, in lower case', '2027-06-30T12:00:00.000Z'],
  ['2027-06-30T12:00:00.123456789Z', 'Go, RFC3339Nano', '2027-06-30T12:00:00.123Z'],
  ['2027-06-30T12:00:00.9999999-07:00', 'SQL Server, datetimeoffset', '2027-06-30T19:00:00.999Z'],
  ['2027-06-30T12:00:00+0100', 'ISO 8601, basic offset; Facebook, Jira', '2027-06-30T11:00:00.000Z'],
  ['2027-06-30T12:00:00,123+01', 'ISO 8601, decimal comma', '2027-06-30T11:00:00.123Z'],
  ['2027-06-30T12:00Z', 'ISO 8601, no seconds', '2027-06-30T12:00:00.000Z'],
  ['20270630T120000Z', 'ISO 8601, basic; iCalendar (RFC 5545)', '2027-06-30T12:00:00.000Z'],
  ['20270630T1200+0530', 'ISO 8601, basic', '2027-06-30T06:30:00.000Z'],
  ['20270630T120000,5Z', 'ISO 8601, basic with a decimal comma', '2027-06-30T12:00:00.500Z'],
  ['2027-06-30 12:00:00+00', 'PostgreSQL, timestamptz', '2027-06-30T12:00:00.000Z'],
  ['2027-06-30 12:00:00.123456-03:30', 'PostgreSQL, timestamptz', '2027-06-30T15:30:00.123Z'],
  ['2027-06-30 12:00:00 +0100', 'Ruby on Rails, Time#to_s; git', '2027-06-30T11:00:00.000Z'],
  ['2027-06-30 12:00:00 UTC', 'Ruby; BigQuery', '2027-06-30T12:00:00.000Z'],
  ['2027-06-30 12:00:00.5 UTC', 'BigQuery', '2027-06-30T12:00:00.500Z'],
  ['2027-06-30 12:00:00 +0000 UTC', 'Go, Time.String', '2027-06-30T12:00:00.000Z'],
  ['2027-06-30 12:00:00 +0000 GMT', 'Go, in London', '2027-06-30T12:00:00.000Z'],
  ['2027-06-30 12:00:00.123456789 +0200 CEST', 'Go, in Berlin', '2027-06-30T10:00:00.123Z'],
  ['2027-06-30 12:00:00 -0500 EST', 'Go, in New York', '2027-06-30T17:00:00.000Z'],
  ['2027-06-30 12:00:00 +0300 +03', 'Go, where the zone has no name', '2027-06-30T09:00:00.000Z'],
  ['30/Jun/2027 12:00:00 -0700', 'Apache', '2027-06-30T19:00:00.000Z'],
  ['2027-06-30 12:00:00.000001-04:00', 'Klaviyo; Python, isoformat', '2027-06-30T16:00:00.000Z'],
  ['2027-06-30T12:00:00+02:00[Europe/Berlin]', 'Java, ZonedDateTime; RFC 9557', '2027-06-30T10:00:00.000Z'],
  ['2027-06-30T12:00Z[Etc/GMT-14]', 'RFC 9557', '2027-06-30T12:00:00.000Z'],
  ['Wed, 30 Jun 2027 12:00:00 +0200', 'RFC 5322', '2027-06-30T10:00:00.000Z'],
  ['Wed, 30 Jun 2027 12:00:00 +0200 (CEST)', 'RFC 5322 with a comment', '2027-06-30T10:00:00.000Z'],
  ['Wed, 30 Jun 2027 12:00:00 GMT', 'RFC 9110, JavaScript toUTCString', '2027-06-30T12:00:00.000Z'],
  ['30 Jun 2027 12:00:00 EST', 'RFC 5322, section 4.3', '2027-06-30T17:00:00.000Z'],
  ['30 Jun 2027 12:00 PDT', 'RFC 5322, section 4.3', '2027-06-30T19:00:00.000Z'],
  [
    'Wed Jun 30 2027 12:00:00 GMT+0200 (Central European Summer Time)',
    'JavaScript, toString',
    '2027-06-30T10:00:00.000Z',
  ],
  ['Wed Jun 30 12:00:00 UTC 2027', 'date(1); Java, Date.toString', '2027-06-30T12:00:00.000Z'],
  ['Wed Jun 30 12:00:00 +0000 2027', 'Twitter', '2027-06-30T12:00:00.000Z'],
  [
    'Tuesday, March 3, 2026 at 9:00 am +0000',
    'the filter date, without a format',
    '2026-03-03T09:00:00.000Z',
  ],
  [1_814_356_800, 'seconds since 1970: Stripe, Slack, Intercom', '2027-06-30T12:00:00.000Z'],
  ['1814356800', 'seconds as a text', '2027-06-30T12:00:00.000Z'],
  [1_814_356_800.25, 'seconds: Python, time.time()', '2027-06-30T12:00:00.250Z'],
  [1_814_356_800_123, 'milliseconds: HubSpot, JavaScript', '2027-06-30T12:00:00.123Z'],
  ['1814356800123', 'milliseconds as a text', '2027-06-30T12:00:00.123Z'],
  ['1814356800000.0', 'milliseconds that pandas has read as floats', '2027-06-30T12:00:00.000Z'],
  [-157_766_400, 'a birthday before 1970, in seconds', '1965-01-01T00:00:00.000Z'],
  [-157_766_400_000, 'a birthday before 1970, in milliseconds', '1965-01-01T00:00:00.000Z'],
];

const local: [value: string, source: string, iso: string][] = [
  ['2027-06-30 12:00:00', 'MySQL; listmonk, Mailchimp, Brevo by API', '2027-06-30T12:00:00.000Z'],
  ['2027-06-30T12:00:00', 'Python, isoformat; Salesforce', '2027-06-30T12:00:00.000Z'],
  ['2027-06-30 12:00', 'HubSpot; spreadsheets', '2027-06-30T12:00:00.000Z'],
  ['2027-06-30 12:00:00.123456', 'Python, str(datetime); Klaviyo', '2027-06-30T12:00:00.123Z'],
  ['2027-06-30 9:05', 'Google Sheets', '2027-06-30T09:05:00.000Z'],
  ['2027-6-3 9:05:07', 'spreadsheets', '2027-06-03T09:05:07.000Z'],
  ['2027/06/30 12:00:00', 'nginx; Go, log', '2027-06-30T12:00:00.000Z'],
  ['2027/6/30 9:05', 'Excel, Japan', '2027-06-30T09:05:00.000Z'],
  ['2027-06-30 01:00:00 PM', 'Mailchimp reports', '2027-06-30T13:00:00.000Z'],
  ['2027-06-30 12:30 a.m.', 'CLDR, English of Canada', '2027-06-30T00:30:00.000Z'],
  ['20270630T120000', 'iCalendar (RFC 5545), local', '2027-06-30T12:00:00.000Z'],
  ['Jun 30, 2027 12:00 PM', 'Campaign Monitor; JavaScript, dateStyle medium', '2027-06-30T12:00:00.000Z'],
  ['Jun 30, 2027, 1:05:07\u202fPM', 'JavaScript since ICU 72', '2027-06-30T13:05:07.000Z'],
  ['June 30th, 2027 at 12:00 PM', 'people', '2027-06-30T12:00:00.000Z'],
  ['30-Jun-2027 12:00:00', 'Oracle; Apache', '2027-06-30T12:00:00.000Z'],
  ['30 June 2027 12:00', 'GOV.UK Notify', '2027-06-30T12:00:00.000Z'],
  ['Wed Jun 30 12:00:00 2027', 'C, asctime', '2027-06-30T12:00:00.000Z'],
];

const days: [value: string, source: string, iso: string][] = [
  ['2027-06-30', 'ISO 8601', '2027-06-30T00:00:00.000Z'],
  ['20270630', 'ISO 8601, basic', '2027-06-30T00:00:00.000Z'],
  ['2028-02-29', 'a leap day', '2028-02-29T00:00:00.000Z'],
  ['2027/06/30', 'Japan, China', '2027-06-30T00:00:00.000Z'],
  ['2027-6-3', 'spreadsheets', '2027-06-03T00:00:00.000Z'],
  ['Jun 30, 2027', 'CLDR, English of the United States', '2027-06-30T00:00:00.000Z'],
  ['Sept. 1st, 2027', 'people', '2027-09-01T00:00:00.000Z'],
  ['30 June 2027', 'CLDR, English', '2027-06-30T00:00:00.000Z'],
  ['2027.06.30', 'Hungary, Korea; SQL Server, style 102', '2027-06-30T00:00:00.000Z'],
  ['2027-Jun-30', 'Oracle; R', '2027-06-30T00:00:00.000Z'],
  ['30-JUN-2027', 'Oracle', '2027-06-30T00:00:00.000Z'],
  ['Wednesday, June 30, 2027', 'CLDR, English', '2027-06-30T00:00:00.000Z'],
  ['  2027-06-30 ', 'spreadsheets', '2027-06-30T00:00:00.000Z'],
];

/** Not times: no form, no such day, or another day for every other reader. */
const unreadable: unknown[] = [
  '12-04-2022',
  '12-04-2022 10:00:00',
  '04/12/2022',
  '06/30/2027 12:00',
  '12.04.2022',
  '30.06.27',
  '27-06-30',
  20260131,
  20_220_412,
  0,
  45_000.5,
  15_551_234_567,
  '15551234567',
  1e21,
  '0000-00-00 00:00:00',
  '2027-02-29',
  '2027-06-31 12:00',
  '31 Jun 2027',
  'Feb 29, 2027',
  '2027-13-01',
  '2027-06-30 24:00',
  '2027-06-30 12:60',
  '2027-06-30 13:00 PM',
  '2027-06-30T12:00:00+15:00',
  '2027-06-30 12:00 CET',
  '2027-06-30 12:00 IST',
  '30 Jun 2027t12:00',
  '30-Jun 2027',
  '2027-06',
  'June 2027',
  '2027-W26-3',
  '12:00',
  'tomorrow',
  'now',
  'infinity',
  'epoch',
  'N/A',
  '-',
  '',
  ' ',
  'x'.repeat(1_000),
  true,
  null,
  {},
  ['2027-06-30'],
];

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** What PostgreSQL reads, in ISO 8601. */
async function inSql(values: readonly unknown[]): Promise<(string | null)[]> {
  const text = `(j.v #>> '{}')`;
  const { rows } = await database.database.pool.query<{ at: Date | null }>(
    `select ${timeSql(text, 'jsonb_typeof(j.v)')} as at
     from unnest($1::jsonb[]) with ordinality as j (v, n) order by n`,
    [values.map((value) => JSON.stringify(value))],
  );
  return rows.map(({ at }) => at && at.toISOString());
}
const inUtc = (value: unknown) => timeIn(value, 'UTC')?.toISOString() ?? null;

describe('a time', () => {
  it.each([
    ['zoned', zoned],
    ['local', local],
    ['day', days],
  ] as const)('is read in each form of the kind %s', async (kind, forms) => {
    const read = forms.map(([value, source]) => [value, source, inUtc(value)]);
    expect(read).toEqual(forms);
    expect(forms.map(([value]) => readTime(value)?.kind)).toEqual(forms.map(() => kind));
    expect(await inSql(forms.map(([value]) => value))).toEqual(forms.map(([, , iso]) => iso));
  });

  it('is nothing that others would read as another day, and no day that does not exist', async () => {
    expect(unreadable.filter((value) => inUtc(value) !== null)).toEqual([]);
    expect((await inSql(unreadable)).filter((at) => at !== null)).toEqual([]);
  });

  it('is the same for PostgreSQL and JavaScript, whatever parts it is made of', async () => {
    const dates = [
      '2027-06-30',
      '2027/2/29',
      '2028/2/29',
      '2027-6-3',
      '20270630',
      'Sun, 29 Feb 2028',
      '31 June 2027',
    ];
    const words = [
      'Feb. 28th, 2027',
      'Saturday Sept 4,2027',
      '1-may-1999',
      '2028-feb-29',
      '31/Mar/2027',
      '2027.02.28',
      'march 31 2999',
      'Thurs 1st Jan 1000',
    ];
    const gaps = ['T', ' ', ', ', ' at ', '\u00a0', '  '];
    const clocks = ['9:05', '23:59:59.9999999', '12:00 AM', '1:02:03,04p.m.', '090507', '0905'];
    const zones = [
      '',
      'Z',
      ' +05',
      'gmt-0930',
      ' UTC',
      ' +0000 UTC',
      ' -0500 EST',
      '+0530 +0530',
      ' mst',
      '+14:59 (x)',
      '-12:00[A/B]',
      ' CET',
    ];
    const made = [...dates, ...words].flatMap((date) => [
      date,
      ...gaps.flatMap((gap) => clocks.flatMap((clock) => zones.map((zone) => date + gap + clock + zone))),
    ]);
    // PostgreSQL counts characters, and JavaScript halves of them.
    made.push(
      `2027-06-30T12:00:00Z (${'\u{1f600}'.repeat(30)})`,
      `2027-06-30T12:00:00Z (${'\u{1f600}'.repeat(10)})`,
    );
    const found = made.map(inUtc);
    expect(await inSql(made)).toEqual(found);
    expect(found.filter((at) => at !== null).length).toBeGreaterThan(1_000);
  });
});

describe('a time without a zone', () => {
  it('is in the given zone, and one with a zone is not', () => {
    expect(timeIn('2027-06-30 12:00:00', 'Europe/Berlin')).toEqual(new Date('2027-06-30T10:00:00Z'));
    expect(timeIn('2027-06-30', 'America/New_York')).toEqual(new Date('2027-06-30T04:00:00Z'));
    expect(timeIn('2027-06-30 12:00:00 +0100', 'Asia/Tokyo')).toEqual(new Date('2027-06-30T11:00:00Z'));
    expect(timeIn(1_814_356_800, 'Asia/Tokyo')).toEqual(new Date('2027-06-30T12:00:00Z'));
  });

  it('that the clocks skip is the moment of the change, and the first of two that they show', () => {
    expect(timeIn('2027-03-28 02:30', 'Europe/Berlin')).toEqual(new Date('2027-03-28T01:00:00Z'));
    expect(timeIn('2027-10-31 02:30', 'Europe/Berlin')).toEqual(new Date('2027-10-31T00:30:00Z'));
  });

  it('is completed by the offset of the zone', () => {
    const completed = (text: string) => withZone(text, 'Europe/Berlin');
    expect(completed('2027-06-30 12:00:00')).toBe('2027-06-30T12:00:00+02:00');
    expect(completed('Jan 5, 2027 1:00 PM')).toBe('2027-01-05T13:00:00+01:00');
    expect(completed('2027-06-30 12:00:00.25')).toBe('2027-06-30T12:00:00.250+02:00');
    expect(withZone('2027-06-30 12:00', 'America/St_Johns')).toBe('2027-06-30T12:00:00-02:30');
    for (const other of [
      '2027-06-30',
      '2027-06-30 12:00:00Z',
      '1814356800',
      '12-04-2022 10:00:00',
      'at 12:00 pm',
    ]) {
      expect(completed(other)).toBe(other);
    }
  });
});
