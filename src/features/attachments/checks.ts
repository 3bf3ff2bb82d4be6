/** Decides whether a file may be sent, and as what. */
import { safeFilename } from '../../platform/storage/file.ts';
import type { ByteSource } from './byte-source.ts';
import { extensionOf, sniffFile, typeOf } from './file-types.ts';
import { essenceOf, parameterOf, withoutName } from './media-type.ts';
import { zipNames } from './zip-names.ts';

/** Programs, by what the first bytes of a file show. */
const programs: Readonly<Record<string, string>> = {
  'application/java-vm': 'a Java program',
  'application/vnd.android.package-archive': 'an Android app',
  'application/x-elf': 'a Linux program',
  'application/x-mach-binary': 'a macOS program',
  'application/x-msdownload': 'a Windows program',
  'application/x.ms.shortcut': 'a Windows shortcut',
};
/** Extensions of names that `safeFilename` does not change. */
const PLAIN_EXTENSION = /^[a-z0-9_]{1,15}$/;
/** Maximum number of other names in an archive: each takes microseconds, and a directory may have 90,000 names. */
const MAX_ODD_NAMES = 2_000;
const ARCHIVES = ['application/zip', 'application/java-archive'];
const MAX_CALENDAR_BYTES = 1024 * 1024;

/** A file as a client names it. */
export interface GivenFile {
  filename: string;
  /** Null: it is found. */
  contentType: string | null;
}

export interface FileProblem {
  part: 'filename' | 'content' | 'content_type';
  message: string;
}

export interface CheckedFile {
  filename: string;
  /** With its parameters. */
  contentType: string;
  problems: FileProblem[];
}

const refused = (what: string) => `${what}, which large mailbox providers refuse`;

function nameProblem(filename: string, blocked: ReadonlySet<string>): FileProblem[] {
  const extension = extensionOf(filename);
  if (!blocked.has(extension)) return [];
  return [{ part: 'filename', message: refused(`names a file of the type .${extension}`) }];
}

/** Whether the file is an archive, whatever the name says: documents of offices are, too. */
const isArchive = (sniffed: string, head: Buffer) =>
  ARCHIVES.includes(sniffed) || head.toString('latin1') === 'PK\x03\x04';

/**
 * Looks for a name with a blocked extension.
 * @returns also the number of unusual names that were looked at, which ends the search if it is too large
 */
function judgeNames(
  names: readonly string[],
  blocked: ReadonlySet<string>,
): { bad: string | null; odd: number } {
  let odd = 0;
  for (const name of names) {
    if (!name.includes('.')) continue;
    const extension = extensionOf(name);
    const isPlain = PLAIN_EXTENSION.test(extension);
    if (isPlain && !blocked.has(extension)) continue;
    if (!isPlain) odd += 1;
    if (odd > MAX_ODD_NAMES) break;
    const safe = safeFilename(name);
    if (blocked.has(extensionOf(safe))) return { bad: safe, odd };
  }
  return { bad: null, odd };
}

async function contentProblem(
  source: ByteSource,
  sniffed: string,
  blocked: ReadonlySet<string>,
): Promise<FileProblem[]> {
  if (blocked.size === 0) return [];
  const problem = (message: string): FileProblem[] => [{ part: 'content', message }];
  const program = programs[sniffed];
  if (program !== undefined) return problem(refused(`is ${program}`));
  if (!isArchive(sniffed, await source.read(0, 4))) return [];
  const names = await zipNames(source);
  if (!names) return problem('is a zip file whose directory cannot be read');
  const { bad, odd } = judgeNames(names, blocked);
  if (odd > MAX_ODD_NAMES) return problem(`is a zip file with more than ${MAX_ODD_NAMES} unusual names`);
  return bad === null ? [] : problem(refused(`contains ${bad}`));
}

/** The method of a calendar (RFC 5546, section 1.4); null if it has none, and is no invitation. */
async function methodOf(source: ByteSource): Promise<string | null> {
  const text = (await source.read(0, Math.min(source.size, MAX_CALENDAR_BYTES))).toString('utf8');
  const [head = ''] = text.replace(/\r?\n[ \t]/g, '').split(/^BEGIN:V(?!CALENDAR)/im, 1);
  return /^METHOD(?:;[^:\r\n]*)?:[ \t]*([A-Za-z-]+)[ \t]*\r?$/im.exec(head)?.[1]?.toUpperCase() ?? null;
}

/** Adds the method of the file to the type of a calendar, as mail clients need it (RFC 6047, section 2.4). */
async function calendarType(
  source: ByteSource,
  contentType: string,
): Promise<Pick<CheckedFile, 'contentType' | 'problems'>> {
  const stated = parameterOf(contentType, 'method');
  const method = await methodOf(source);
  if (stated !== null && stated.toUpperCase() !== method) {
    const message = `has the method ${stated}, but the file has ${method ?? 'none'}`;
    return { contentType, problems: [{ part: 'content_type', message }] };
  }
  const charset = parameterOf(contentType, 'charset') === null ? '; charset=utf-8' : '';
  const parameter = stated === null && method !== null ? `; method=${method}` : '';
  return { contentType: contentType + charset + parameter, problems: [] };
}

/**
 * Checks the name and the type of a file whose content was checked before.
 * @param blocked as for {@link checkFile}
 */
export async function checkNamed(
  source: ByteSource,
  given: GivenFile & { contentType: string },
  blocked: ReadonlySet<string>,
): Promise<CheckedFile> {
  const filename = safeFilename(given.filename);
  const contentType = withoutName(given.contentType);
  const problems = nameProblem(filename, blocked);
  if (essenceOf(contentType) !== 'text/calendar') return { filename, contentType, problems };
  const calendar = await calendarType(source, contentType);
  return { filename, contentType: calendar.contentType, problems: [...problems, ...calendar.problems] };
}

/**
 * Checks a file, and finds its name and type as mails have them.
 * @param blocked extensions of files that are refused, by name, by content, and in archives; empty: nothing is
 */
export async function checkFile(
  source: ByteSource,
  given: GivenFile,
  blocked: ReadonlySet<string>,
): Promise<CheckedFile> {
  const sniffed = await sniffFile(source);
  const contentType = given.contentType ?? typeOf(safeFilename(given.filename), sniffed);
  const { problems, ...checked } = await checkNamed(source, { ...given, contentType }, blocked);
  return { ...checked, problems: [...problems, ...(await contentProblem(source, sniffed, blocked))] };
}
