// The files of a request are read and checked before anything is stored.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type AttachmentBody, attachmentsSchema } from '../../../src/features/attachments/schema.ts';
import type { ReadAttachments } from '../../../src/features/attachments/service.ts';
import { type Parsed, parseWith } from '../../../src/platform/input/validation.ts';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import {
  type AttachmentStage,
  callerOf,
  createAttachmentStage,
  readFileOf,
} from '../../support/attachments.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

const MIB = 1024 * 1024;
const ICS = 'BEGIN:VCALENDAR\nMETHOD:REQUEST\nEND:VCALENDAR\n';

let db: TestDatabase;
let stage: AttachmentStage;
let tenant: TestTenant;
let uploadId = 0;

beforeAll(async () => {
  db = await createTestDatabase();
  stage = await createAttachmentStage(db.database, { ATTACHMENTS_MB: '6' });
  tenant = await createTestTenant(db.database, 'Reading');
  const file = readFileOf(ICS);
  await stage.attachments.storeFiles(callerOf(tenant), [file]);
  const { rows } = await db.database.pool.query<{ id: number }>(
    `insert into attachment_uploads (account_id, brand_id, filename, content_type, size, sha256, expires_at)
     values ($1, $2, 'invite.ics', 'text/calendar; charset=utf-8; method=REQUEST', $3, $4, now() + interval '1 h')
     returning id`,
    [tenant.accountId, tenant.brandId, file.size, file.sha256],
  );
  uploadId = rows[0]?.id ?? 0;
});
afterAll(() => Promise.all([stage.close(), db.drop()]));

const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64');
const file = (fields: object = {}) => ({ filename: 'a.txt', content: base64('one'), ...fields });

/** Parses and reads as a route does. @returns what is wrong; null if nothing is */
async function problemsOf(given: object[]): Promise<Record<string, string[]> | null> {
  const parsed = parseWith(attachmentsSchema, given, 'field') as Parsed<AttachmentBody[]>;
  if (!parsed.ok) return parsed.errors;
  const { problems } = await stage.attachments.readAttachments(callerOf(tenant), parsed.value);
  return Object.keys(problems).length > 0 ? problems : null;
}

const fetched =
  'files are not fetched: send `content`, or upload the file by POST /attachments and give its `attachment_id`';
const either = 'give either `content` or `attachment_id`';
const unknown = 'is not an attachment of this brand, or has expired';
const big = (mib: number) => file({ content: base64(randomBytes(mib * MIB)) });

it.each<[string, () => object[], Record<string, unknown[]> | null]>([
  ['a file', () => [file()], null],
  ['no files', () => [], null],
  ['a path', () => [{ filename: 'a', path: '/etc/passwd' }], { '0.path': [fetched] }],
  ['a URL beside a content', () => [file({ url: 'https://a.test/' })], { '0.url': [fetched] }],
  ['both sources', () => [file({ attachment_id: 1 })], { '0.attachment_id': [either] }],
  ['no name', () => [{ content: base64('one') }], { '0.filename': ['is required with `content`'] }],
  ['a line break in a name', () => [file({ filename: 'a\nb' })], { '0.filename': [expect.anything()] }],
  ['21 files', () => Array.from({ length: 21 }, () => file()), { body: ['must have at most 20 files'] }],
  [
    'a bad type',
    () => [file({ content_type: 'pdf' })],
    { '0.content_type': ['must be a media type such as application/pdf'] },
  ],
  [
    'a mail as a file',
    () => [file({ content_type: 'message/rfc822' })],
    { '0.content_type': ['must not be multipart or message'] },
  ],
  [
    'equal content ids',
    () => [file({ content_id: 'a' }), file({ content_id: 'a' })],
    { '1.content_id': ['is that of another file, too'] },
  ],
  [
    'text that is no base64',
    () => [file(), file({ content: '?' })],
    { 'attachments.1.content': [expect.stringContaining('base64')] },
  ],
  [
    'a program',
    () => [file({ filename: 'a.exe' })],
    { 'attachments.0.filename': [expect.stringContaining('.exe')] },
  ],
  ['an unknown upload', () => [{ attachment_id: 999_999 }], { 'attachments.0.attachment_id': [unknown] }],
  [
    'two invitations',
    () => [{ attachment_id: uploadId }, file({ filename: 'b.ics', content: base64(ICS) })],
    { 'attachments.1.content': ['is a second invitation, and a message can have only one'] },
  ],
  [
    'an upload under a dangerous name',
    () => [{ attachment_id: uploadId, filename: 'a.bat' }],
    { 'attachments.0.filename': [expect.stringContaining('.bat')] },
  ],
  ['5 MB in two threads’ worth', () => [big(2), big(3)], null],
  [
    'more than 5 MB inline',
    () => [big(2), big(3), file()],
    { attachments: [expect.stringContaining('POST /attachments')] },
  ],
  [
    'far more than 5 MB inline',
    () => [big(9)],
    { attachments: [expect.stringContaining('POST /attachments')] },
  ],
])('judges %s', async (_what, given, problems) => {
  const found = await problemsOf(given());
  expect(found).toEqual(problems);
});

const read = (given: AttachmentBody[], test = false): Promise<ReadAttachments> =>
  stage.attachments.readAttachments(callerOf(tenant, test), given);

it('returns the files in their order, with names, types and places', async () => {
  const { files } = await read([
    file({ content_id: 'logo' }),
    { attachment_id: uploadId, disposition: 'attachment' },
    { attachment_id: uploadId, filename: 'b.txt', content_type: 'text/plain' },
  ]);
  const [one, two] = [readFileOf('one'), readFileOf(ICS)];
  const first = {
    ...one,
    contentType: 'text/plain; charset=utf-8',
    contentId: 'logo',
    disposition: 'inline',
  };
  expect(files[0]).toEqual({ ...first, folded: Buffer.from(one.folded ?? []) });
  const upload = { ...two, folded: null };
  expect(files.slice(1)).toEqual([
    {
      ...{ ...upload, filename: 'invite.ics', field: 'attachments.1.attachment_id' },
      contentType: 'text/calendar; charset=utf-8; method=REQUEST',
    },
    { ...upload, filename: 'b.txt', contentType: 'text/plain', field: 'attachments.2.attachment_id' },
  ]);
});

it('has hashes in the fingerprint instead of the content, and takes the content out of the request', async () => {
  const lines = file({ content: 'b2\r\nl\n' });
  const large = () => big(1);
  const [plain, broken, other] = await Promise.all([
    read([file()]),
    read([file({ content: `${base64('one')}\n` })]),
    read([large()]),
  ]);
  expect(plain.fingerprint).toEqual(broken.fingerprint);
  expect(plain.fingerprint).toEqual([
    { filename: 'a.txt', sha256: readFileOf('one').sha256.toString('hex') },
  ]);
  expect(other.fingerprint).not.toEqual(plain.fingerprint);
  expect((await read([big(9)])).fingerprint).not.toEqual((await read([])).fingerprint);
  expect((await read([{ attachment_id: 999_999 }])).fingerprint).toEqual([{ attachment_id: 999_999 }]);
  const given = [lines, large()];
  await read(given);
  expect(given.map(({ content }) => content)).toEqual(['', '']);
});

it('does not read the content of uploads again', async () => {
  const { size, sha256 } = readFileOf('on no disk');
  const { rows } = await db.database.pool.query<{ id: number }>(
    `with stored as (
       insert into attachment_files (account_id, sha256, storage_key, size, kept_until) values ($1, $4, 'none', $3, now()))
     insert into attachment_uploads (account_id, brand_id, filename, content_type, size, sha256, expires_at)
     values ($1, $2, 'a.zip', 'application/zip', $3, $4, now() + interval '1 h') returning id`,
    [tenant.accountId, tenant.brandId, size, sha256],
  );
  const given = [{ attachment_id: rows[0]?.id ?? 0 }];
  expect(await read(given)).toMatchObject({ files: [{ size }], problems: {} });
});

it('refuses uploads to test keys', async () => {
  await expect(read([{ attachment_id: uploadId }], true)).rejects.toMatchObject({ code: 'test_key' });
  expect((await read([file()], true)).files.length).toBe(1);
});

it('refuses large files while too many of an account are being decoded', async () => {
  const body = big(3);
  const results = await Promise.allSettled(Array.from({ length: 12 }, () => read([{ ...body }])));
  const refusals = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as unknown] : [],
  );
  expect(refusals.length).toBe(7);
  for (const refusal of refusals)
    expect(refusal).toMatchObject({ code: 'unavailable', headers: { 'Retry-After': '1' } });
});
