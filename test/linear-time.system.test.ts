// The processing time of every function and request schema grows linearly with the client's text.
/**
 * A stopwatch over every function that sees a client's text: sixteen times the text may take sixteen times as long, not
 * 256 times. Only ratios of processor time are judged, so the test holds on a slow or busy machine.
 */
import { execFile } from 'node:child_process';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseEmailAddress } from '../src/delivery/terms/addresses/email.ts';
import { parsePhone } from '../src/delivery/terms/addresses/phone.ts';
import { bufferSource } from '../src/features/attachments/byte-source.ts';
import { checkFile } from '../src/features/attachments/checks.ts';
import { decodeFile } from '../src/features/attachments/decode.ts';
import { parseMail } from '../src/features/inbox/mail/contents.ts';
import { readDate } from '../src/features/inbox/mail/header-date.ts';
import { parseReturnPath } from '../src/delivery/terms/addresses/return-path.ts';
import { classifyBounce } from '../src/delivery/terms/bounces.ts';
import { relaxedBodyHash, relaxedField } from '../src/delivery/content/dkim/canonical.ts';
import { readReport } from '../src/delivery/wire/inbound/report.ts';
import { encodeText } from '../src/delivery/content/mime/body-encoding.ts';
import { encodeWords } from '../src/delivery/content/mime/encoded-words.ts';
import { formatAddressField, formatTextField } from '../src/delivery/content/mime/header-fields.ts';
import { type EmailContent, prepareContent } from '../src/delivery/content/mime/message.ts';
import { formatParameterized } from '../src/delivery/content/mime/parameters.ts';
import {
  bodyKindOf,
  completeDocument,
  paragraphs,
  withPreheader,
} from '../src/delivery/content/templates/document.ts';
import { formatDate } from '../src/delivery/content/templates/dates.ts';
import { createFilters } from '../src/delivery/content/templates/filters.ts';
import { linkFault } from '../src/delivery/content/templates/check.ts';
import { parsePieces } from '../src/delivery/content/templates/parse-outputs.ts';
import { renderPieces } from '../src/delivery/content/templates/render-outputs.ts';
import { closeAttributes, showInPlace } from '../src/delivery/content/templates/places.ts';
import { Placeholders } from '../src/delivery/content/templates/placeholders.ts';
import { enforceUrls, isAllowedUrl } from '../src/delivery/content/templates/urls.ts';
import { textFromHtml } from '../src/delivery/content/mime/text-from-html.ts';
import { trackHtml } from '../src/delivery/content/mime/tracked-html.ts';
import { countSegments } from '../src/delivery/terms/texts/sms-segments.ts';
import { scanData, stuffDots } from '../src/delivery/wire/smtp/message-data.ts';
import { isAllowed, readRobots } from '../src/features/brands/scrape/page/robots.ts';
import { describeClient, findUtm } from '../src/features/contact-events/enrichment.ts';
import { malformedHeaderErrors, malformedTagErrors } from '../src/features/messages/headers-and-tags.ts';
import { numberOf, timeOf } from '../src/features/segments/json-values.ts';
import { parseFilters } from '../src/features/segments/parse.ts';
import { contentDisposition, safeFilename, sniffContentType } from '../src/platform/storage/file.ts';
import { previewHtml, readMail } from '../src/local/mailbox/mail-content.ts';
import { markup } from '../src/local/mailbox/markup.ts';
import { guardCell, unguardCell } from '../src/platform/csv/guard.ts';
import { csvRecord } from '../src/platform/csv/writer.ts';
import { fingerprintOf } from '../src/platform/db/idempotency.ts';
import { readJson } from '../src/platform/http/body.ts';
import { exceededBound } from '../src/platform/json/shape.ts';
import type { CountedRequest } from '../src/platform/http/counted-request.ts';
import { readMultipart } from '../src/platform/http/multipart.ts';
import { findUnstorable } from '../src/platform/input/storable.ts';
import { nearestName } from '../src/platform/input/nearest-name.ts';
import { parseWith } from '../src/platform/input/validation.ts';
import { startTestApi, type TestApi } from './support/api.ts';
import { brokenTexts, hostileTexts } from './support/hostile-texts.ts';

const KB = 1024;
const MB = 1024 * KB;

const from = { name: null, address: 'a@b.co', local: 'a', domain: 'b.co', key: '', smtpUtf8: false };
const prepare = (content: Partial<EmailContent>) =>
  prepareContent({ subject: 's', html: null, text: 'x', from, replyTo: null, headers: {}, ...content });

const tracking = {
  id: 'test',
  clickPrefix: 'https://t.co/c/',
  openPrefix: 'https://t.co/o/',
  tokenOverhead: 39,
  maxUrlLength: 1_500,
  ownBases: ['https://t.co'],
};

function request(type: string, ...chunks: Buffer[]): CountedRequest {
  const length = String(Buffer.concat(chunks).length);
  return Object.assign(Readable.from(chunks), {
    headers: { 'content-type': type, 'content-length': length },
    receivedBytes: 0,
    failure: null,
  }) as unknown as CountedRequest;
}

const unmetered = { reserve: () => false, take: () => undefined, release: () => undefined };

const dangerous = new Set(['exe']);
const check = (filename: string, text: string) =>
  checkFile(bufferSource(Buffer.from(text)), { filename, contentType: null }, dangerous);

function reportPart(type: string, text: string): string {
  return `Content-Type: multipart/report; boundary=b\r\n\r\n--b\r\nContent-Type: ${type}\r\n\r\n${text}\r\n--b--\r\n`;
}

/** @param mailOf makes a mail from a stranger's text */
function report(mailOf: (text: string) => string): [limit: number, run: (text: string) => unknown] {
  const read = (text: string) =>
    readReport({ head: Buffer.from(mailOf(text)), envelopeFrom: '', feedbackLoop: true });
  return [128 * KB, read];
}

/** @param headOf makes fields from a stranger's text; without it, the text is the body */
function mail(
  head: string,
  headOf?: (text: string) => string,
): [limit: number, run: (text: string) => unknown] {
  const bytesOf = (text: string) => {
    const source = headOf ? `${headOf(text)}\r\n\r\nx` : `${head}\r\n\r\n${text}`;
    return Buffer.from(Uint8Array.from(Buffer.from(source)).buffer);
  };
  return [headOf ? 30 * KB : MB, (text) => parseMail(bytesOf(text))];
}

function multipart(filename: string, file: string): Promise<unknown> {
  const head = `--b\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\n\r\n`;
  const body = Buffer.from(`${head}${file}\r\n--b--\r\n`);
  const form = { file: 'file', maxFileBytes: 5 * MB };
  return readMultipart(request('multipart/form-data; boundary=b', body), form, unmetered);
}

let described = 0;

const contentValues = (text: string) => ({
  contact: { x: text },
  brand: {},
  campaign: null,
  unsubscribe_url: null,
  preferences_url: null,
  variables: { x: text },
});

/** Renders with a value. */
function renderedWith(liquid: string, text: string): unknown {
  const pieces = parsePieces(liquid, 'html');
  return pieces && renderPieces(pieces, contentValues(text), 'html');
}

/** Puts Liquid into HTML and brings it to its place. */
function placed(html: string): unknown {
  const placeholders = new Placeholders([html]);
  return showInPlace(closeAttributes(`${placeholders.hide('{{ x }}')}${html}`, placeholders), placeholders);
}

const contentFilters = createFilters();

/** The functions, with the longest text that reaches each of them, or with a large part of it. */
const functions: Record<string, [limit: number, run: (text: string) => unknown]> = {
  formatTextField: [10_000, (text) => formatTextField('X-A', text)],
  formatAddressField: [1_000, (text) => formatAddressField('From', { ...from, name: text })],
  formatParameterized: [10_000, (text) => formatParameterized('attachment', { filename: text })],
  encodeWords: [10_000, (text) => encodeWords(text, 60)],
  encodeText: [256 * KB, encodeText],
  textFromHtml: [256 * KB, textFromHtml],
  'textFromHtml below its limit of tags': [32 * KB, textFromHtml],
  'prepareContent with text': [256 * KB, (text) => prepare({ text })],
  'prepareContent with HTML': [256 * KB, (text) => prepare({ html: text, text: '' })],
  trackHtml: [256 * KB, (text) => trackHtml(text, {}, tracking)],
  'trackHtml in an attribute': [256 * KB, (text) => trackHtml(`<a href="${text}">`, {}, tracking)],
  'trackHtml of a target': [4 * KB, (text) => trackHtml(`<a href="http://a.co/${text}">`, {}, tracking)],
  'trackHtml with a header': [
    10_000,
    (text) => trackHtml('<a href="http://a.co/">', { 'List-Unsubscribe': text }, tracking),
  ],
  'prepareContent with tracked links': [
    256 * KB,
    (text) => prepare({ html: `<a href="http://a.co/">x</a>${text}`, text: '', tracking }),
  ],
  'prepareContent with many headers': [
    320_000,
    (text) => {
      const values = Array.from({ length: 8 }, (_, index) =>
        text.slice((index * text.length) / 8, ((index + 1) * text.length) / 8),
      );
      return prepare({ headers: Object.fromEntries(values.map((value, index) => [`X-${index}`, value])) });
    },
  ],
  enforceUrls: [256 * KB, enforceUrls],
  'enforceUrls in an attribute': [256 * KB, (text) => enforceUrls(`<a href="${text}">`)],
  'enforceUrls in what Outlook reads': [256 * KB, (text) => enforceUrls(`<!--[if mso]>${text}<![endif]-->`)],
  isAllowedUrl: [64 * KB, (text) => isAllowedUrl(text, 'link')],
  linkFault: [16 * KB, (text) => linkFault(`https://${text}`, 'link', false)],
  'parsePieces of HTML': [256 * KB, (text) => parsePieces(`{{ x }}${text}`, 'html')],
  'parsePieces of an output': [256 * KB, (text) => parsePieces(`{{ ${text} }}`, 'html')],
  'a value in HTML': [256 * KB, (text) => renderedWith('<p>{{ x }}</p><a href="{{ x }}">', text)],
  'a raw value in HTML': [256 * KB, (text) => renderedWith('<p>{{ x | raw }}</p>', text)],
  'the place of Liquid in HTML': [256 * KB, placed],
  bodyKindOf: [256 * KB, bodyKindOf],
  completeDocument: [256 * KB, completeDocument],
  'paragraphs of a text': [
    256 * KB,
    (text) =>
      paragraphs(
        text,
        () => false,
        () => false,
      ),
  ],
  withPreheader: [256 * KB, (text) => withPreheader(text, text)],
  formatDate: [64 * KB, (text) => [formatDate(text, text, text, 0), formatDate('now', text, 'UTC', 0)]],
  ...Object.fromEntries(
    Object.entries(contentFilters).map(([name, filter]): [string, [number, (text: string) => unknown]] => [
      `the filter ${name}`,
      [256 * KB, (text) => filter.run(text, [text], 'html')],
    ]),
  ),
  relaxedField: [40_000, (text) => relaxedField(`X-A: ${text}`)],
  relaxedBodyHash: [512 * KB, (text) => relaxedBodyHash(Buffer.from(text, 'latin1'))],
  scanData: [512 * KB, (text) => scanData(Buffer.from(text, 'latin1'))],
  stuffDots: [512 * KB, (text) => stuffDots(Buffer.from(text, 'latin1'), text.length)],
  parseEmailAddress: [1_000, parseEmailAddress],
  'parseEmailAddress with a name': [1_000, (text) => parseEmailAddress(`"${text}" <a@b.co>`)],
  'parseEmailAddress with a domain': [1_000, (text) => parseEmailAddress(`a@${text}`)],
  parsePhone: [1_000, (text) => parsePhone(`+1${text}`)],
  // A number before the text, because results are cached.
  describeClient: [500, (text) => describeClient(`${(described += 1)} ${text}`.slice(0, text.length))],
  'findUtm of a query': [2_048, (text) => findUtm({}, { referrer: `https://a.co/?utm_source=${text}` })],
  readRobots: [512 * KB, (text) => readRobots(`User-agent: *\n${text}`, 'x')],
  'isAllowed by robots.txt': [
    1_000,
    (text) => isAllowed([{ allow: true, pattern: text.slice(1) }], `https://a.co/${text}`),
  ],
  parseReturnPath: [1_000, (text) => parseReturnPath([Buffer.alloc(32)], `b-${text}`)],
  classifyBounce: [64 * KB, (text) => classifyBounce({ code: 550, enhanced: null, text, stage: 'report' })],
  'classifyBounce of a temporary refusal': [
    64 * KB,
    (text) => classifyBounce({ code: 450, enhanced: '4.2.1', text, stage: 'rcpt' }),
  ],
  'readReport of a mail': report((text) => text),
  'readReport of a header': report((text) => `X-A: ${text}\r\n\r\n`),
  'readReport of an old bounce': report(
    (text) => `Subject: x\r\n\r\nHi. This is the qmail-send\r\n\r\n<${text}`,
  ),
  'readReport of a bounce in the words of Exim': report(
    (text) =>
      `Subject: x\r\n\r\nThis message was created automatically by mail delivery software. It could not be delivered to ${text}`,
  ),
  'readReport of a bounce of Postfix': report(
    (text) => `Subject: x\r\n\r\nThis is the mail system at host ${text}`,
  ),
  'readReport of a bounce with the recipient before the reply': report(
    (text) =>
      `Subject: x\r\n\r\nThis is the mail system at host a could not be delivered to one or more\r\n<${text}`,
  ),
  'readReport of technical details': report(
    (text) =>
      `Subject: x\r\n\r\nDelivery to the following recipients failed permanently:\r\nTechnical details:\r\n${text}`,
  ),
  'parseMail of a text': mail('Content-Type: text/plain'),
  'parseMail of a flowed text': mail('Content-Type: text/plain; format=flowed'),
  'parseMail of HTML': mail('Content-Type: text/html'),
  'parseMail of base64': mail('Content-Transfer-Encoding: base64'),
  'parseMail of quoted-printable': mail('Content-Transfer-Encoding: quoted-printable'),
  'parseMail of uuencode': mail('Content-Transfer-Encoding: uuencode'),
  'parseMail of HZ': mail('Content-Type: text/plain; charset=hz'),
  'parseMail of ISO-2022-KR': mail('Content-Type: text/plain; charset=iso-2022-kr'),
  'parseMail of parts without a boundary': mail('Content-Type: multipart/mixed'),
  'parseMail of a type': mail('', (text) => `Content-Type: text/plain; name="${text}`),
  'parseMail of a subject': mail('', (text) => `Subject: ${text}`),
  readDate: [32 * KB, (text) => readDate(`Fri, 27 ${text}`)],
  'readReport of a bounce of Gmail': report(
    (text) =>
      `Subject: x\r\n\r\nDelivery to the following recipient failed permanently:\r\nTechnical details of permanent failure:\r\n${text}`,
  ),
  'readReport of a delivery report': report((text) =>
    reportPart('message/delivery-status', `Action: failed\r\nDiagnostic-Code: ${text}`),
  ),
  'readReport of a feedback report': report((text) =>
    reportPart('message/feedback-report', `Feedback-Type: abuse\r\n${text}`),
  ),
  'readReport of a returned header': report((text) => reportPart('message/rfc822', `Message-ID: <${text}`)),
  countSegments: [256 * KB, countSegments],
  malformedHeaderErrors: [10_000, (text) => malformedHeaderErrors({ [text]: text, 'X-A': text })],
  malformedTagErrors: [10_000, (text) => malformedTagErrors({ [text]: text })],
  safeFilename: [16 * KB, safeFilename],
  contentDisposition: [200, (text) => contentDisposition('attachment', safeFilename(text))],
  sniffContentType: [512 * KB, (text) => sniffContentType(Buffer.from(text))],
  'sniffContentType of XML': [512 * KB, (text) => sniffContentType(Buffer.from(`<?xml ${text}`))],
  'sniffContentType of a ZIP': [512 * KB, (text) => sniffContentType(Buffer.from(`PK\u0003\u0004${text}`))],
  'sniffContentType of an MP3': [512 * KB, (text) => sniffContentType(Buffer.from(`ID3${text}`))],
  'checkFile of a calendar': [256 * KB, (text) => check('a.ics', `BEGIN:VCALENDAR\nMETHOD:${text}`)],
  'checkFile of a ZIP': [256 * KB, (text) => check('a.zip', `PK\u0003\u0004${text}PK\u0005\u0006`)],
  'decodeFile of anything': [
    256 * KB,
    (content) => decodeFile({ filename: 'a', contentType: null, content }, dangerous),
  ],
  fingerprintOf: [256 * KB, (text) => fingerprintOf({ html: text, to: text.slice(0, 1_000) })],
  guardCell: [MB, guardCell],
  'guardCell after a semicolon': [MB, (text) => guardCell(`a;${text}`)],
  'guardCell before a tab': [MB, (text) => guardCell(`${text}\t`)],
  unguardCell: [MB, unguardCell],
  'unguardCell after a semicolon': [MB, (text) => unguardCell(`a;${text}`)],
  'unguardCell before a tab': [MB, (text) => unguardCell(`${text}\t`)],
  csvRecord: [MB, (text) => csvRecord(['x', text])],
  findUnstorable: [256 * KB, (text) => findUnstorable({ [text]: text }, '', {})],
  timeOf: [64 * KB, timeOf],
  numberOf: [64 * KB, numberOf],
  parseFilters: [1_000, (text) => parseFilters([{ name: `data.${text}`, predicate: 'gt', value: text }])],
  nearestName: [1_000, (text) => nearestName(text, ['html', 'subject', 'template_id'])],
  exceededBound: [512 * KB, (text) => exceededBound(Buffer.from(text))],
  'readJson of a text': [
    256 * KB,
    (text) =>
      readJson(request('application/json', Buffer.from(JSON.stringify({ text }))), 16 * MB, false, unmetered),
  ],
  'readJson of anything': [
    256 * KB,
    (text) => readJson(request('application/json', Buffer.from(text)), 16 * MB, false, unmetered),
  ],
  'readJson with a long type': [
    16 * KB,
    (text) => readJson(request(text, Buffer.from('{}')), MB, false, unmetered),
  ],
  'readMultipart with a file': [256 * KB, (text) => multipart('a.txt', text)],
  'readMultipart with a filename': [16 * KB, (text) => multipart(text, 'x')],
  URLSearchParams: [16 * KB, (text) => Object.fromEntries(new URLSearchParams(text))],
  'the mailbox page’s escaping': [256 * KB, (text) => markup`${text}`],
  'the mailbox page’s preview': [
    32 * KB,
    async (text) =>
      previewHtml(await readMail(Buffer.from(`Subject: x\r\nContent-Type: text/html\r\n\r\n${text}`))),
  ],
};

/** A text below this time is harmless, however it grows. A slow machine only checks more of them. */
const HARMLESS_MS = 10;
const GROWTH = 16;
/** Linear: 1. Quadratic: 16. The rest is for noise, and for caches that the long text does not fit into. */
const TOO_MUCH = 7;
/** So many that some meet no collection of the garbage of all tests before. */
const ROUNDS = 25;

/** Processor time: other processes do not count. */
async function millisecondsOf(run: (text: string) => unknown, text: string, times = 1): Promise<number> {
  const start = process.cpuUsage();
  for (let time = 0; time < times; time += 1) {
    try {
      await run(text);
    } catch {
      // A refusal has to be fast, too.
    }
  }
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

/**
 * Compares one long text with as much text in short ones. Both take about as long if the time is linear, so a busy
 * machine slows both alike.
 * @returns how many times as long the long text takes, by the best of several runs; 0 if it is harmless
 */
async function excessOf(run: (text: string) => unknown, make: (length: number) => string, limit: number) {
  const long = make(limit);
  const short = make(Math.floor(limit / GROWTH));
  let bestLong = Infinity;
  let bestShort = Infinity;
  for (let round = 0; round < ROUNDS; round += 1) {
    bestLong = Math.min(bestLong, await millisecondsOf(run, long));
    if (bestLong < HARMLESS_MS) return 0;
    bestShort = Math.min(bestShort, await millisecondsOf(run, short, GROWTH));
    if (bestLong < bestShort * TOO_MUCH) break;
  }
  return bestLong / bestShort;
}

async function quadraticTexts(run: (text: string) => unknown, limit: number): Promise<string[]> {
  const found: string[] = [];
  for (const [name, make] of Object.entries({ ...hostileTexts, ...brokenTexts })) {
    const excess = await excessOf(run, make, limit);
    if (excess >= TOO_MUCH) found.push(`${name}: ${excess.toFixed(0)} times`);
  }
  return found;
}

describe('the time for a client’s text grows linearly', () => {
  it.each(Object.entries(functions))(
    'in %s',
    async (_name, [limit, run]) => {
      expect(await quadraticTexts(run, limit)).toEqual([]);
    },
    240_000,
  );
});

/**
 * Times {@link guardCell} and {@link unguardCell} for apostrophes, and prints how many times as long a text takes as one
 * in sixteen parts.
 */
const guardProgram = `
  const { guardCell, unguardCell } = await import(process.argv[1]);
  const time = (run, text, times = 1) => {
    const start = process.cpuUsage();
    for (let time = 0; time < times; time += 1) run(text);
    const { user, system } = process.cpuUsage(start);
    return user + system;
  };
  const texts = [(n) => "'".repeat(n), (n) => "a;" + "'".repeat(n), (n) => "'".repeat(n) + "\\t", (n) => "a;" + '"'.repeat(n)];
  const excess = [guardCell, unguardCell].flatMap((run) => texts.map((make) => {
    const length = 32 * 1024;
    const rounds = [1, 2, 3].map(() => [time(run, make(length)), time(run, make(length / 16), 16)]);
    const [long, short] = [0, 1].map((at) => Math.min(...rounds.map((round) => round[at])));
    return long < 10_000 ? 0 : long / short;
  }));
  console.log(JSON.stringify(excess));
`;

// Versions of V8 differ in which regular expressions they speed up. None may be needed.
it('the time to guard a cell grows linearly without optimized regular expressions', async () => {
  const guard = new URL('../src/platform/csv/guard.ts', import.meta.url).href;
  const flags = ['--no-regexp-optimization', '--input-type=module', '--eval', guardProgram];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, guard]);
  expect((JSON.parse(stdout) as number[]).filter((excess) => excess >= TOO_MUCH)).toEqual([]);
}, 240_000);

describe('the time to validate a request grows linearly', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startTestApi();
  });
  afterAll(() => api.close());

  it('in every field of every body', async () => {
    const found: string[] = [];
    for (const { body, operationId } of api.routes) {
      if (!body) continue;
      const fields = Object.keys((body._zod.def as { shape?: object }).shape ?? {});
      for (const field of fields) {
        const run = (text: string) =>
          parseWith(
            body,
            { channel: 'email', to: 'a@b.co', subject: 'x', html: 'x', [field]: text },
            'field',
          );
        const quadratic = await quadraticTexts(run, 64 * KB);
        found.push(...quadratic.map((text) => `${operationId} ${field}: ${text}`));
      }
    }
    expect(found).toEqual([]);
  }, 600_000);

  it('in every query parameter', async () => {
    const found: string[] = [];
    for (const { query, operationId } of api.routes) {
      for (const field of Object.keys(query?.shape ?? {})) {
        const run = (text: string) => query && parseWith(query, { [field]: text }, 'query parameter');
        const quadratic = await quadraticTexts(run, 16 * KB);
        found.push(...quadratic.map((text) => `${operationId} ${field}: ${text}`));
      }
    }
    expect(found).toEqual([]);
  }, 600_000);
});
