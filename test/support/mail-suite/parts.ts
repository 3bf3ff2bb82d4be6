import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { scanStructure } from '../../../src/delivery/content/read/structure.ts';
import { decodeBody } from '../../../src/delivery/content/read/transfer-encoding.ts';

/** A part without parts of its own. An attached mail is one. */
export interface Part {
  type: string;
  /** Of the decoded content; null: not compared. */
  sha: string | null;
  size: number | null;
}

export interface MailParts {
  name: string;
  parts?: Part[];
  /** Why the mail cannot be read. */
  error?: string;
  /** What Python objects to. */
  defects?: string[];
}

const script = fileURLToPath(new URL('parts.py', import.meta.url));
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;

/** The parts of a mail, as Carillon finds them. */
export function partsOf(name: string, raw: Buffer): MailParts {
  const { problem, leaves } = scanStructure(raw);
  if (problem !== null) return { name, error: problem };
  return {
    name,
    parts: leaves.map(({ start, end, header }) => {
      const content = decodeBody(raw.subarray(start, end), header);
      return {
        type: header.type,
        sha: createHash('sha256').update(content).digest('hex'),
        size: content.length,
      };
    }),
  };
}

/** The parts of all mails in a folder, as Python's email package finds them. Needs `python3`. */
export async function pythonParts(folder: string): Promise<MailParts[]> {
  const { stdout } = await promisify(execFile)('python3', [script, folder], { maxBuffer: MAX_OUTPUT_BYTES });
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as MailParts);
}

const IS_MESSAGE = /^message\//;

/** @returns how the parts differ; null if they are the same */
export function differenceOf(found: MailParts, expected: MailParts): string | null {
  if (!found.parts || !expected.parts) return found.error ?? expected.error ?? null;
  if (found.parts.length !== expected.parts.length)
    return `${found.parts.length} parts instead of ${expected.parts.length}`;
  for (const [index, part] of found.parts.entries()) {
    const other = expected.parts[index] as Part;
    const comparable = !IS_MESSAGE.test(other.type) && other.sha !== null;
    if (comparable && part.sha !== other.sha)
      return `part ${index + 1} (${part.type}) has other bytes: ${part.size}, ${other.size}`;
  }
  return null;
}
