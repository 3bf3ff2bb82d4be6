import { z } from 'zod';
import { readIfThere, writePrivateFile } from '../machine/secret-file.ts';

const pid = z.number().int().nullable();

/** The content of `.carillon/dev.json`. A value is null if the process does not run, or Carillon did not start it. */
const devFile = z.object({
  base_url: z.string(),
  // Earlier versions wrote none, and their file still has the demo account.
  console_url: z.string().default(''),
  api_key: z.string(),
  email: z.string(),
  password: z.string(),
  account_id: z.number().int(),
  brand_id: z.number().int(),
  temporal_address: z.string(),
  temporal_ui_url: z.string().nullable(),
  database_url: z.string(),
  mailbox_url: z.string().nullable(),
  // Earlier versions wrote neither this nor the process.
  smtp_url: z.string().nullable().default(null),
  pids: z.object({
    api: pid,
    worker: pid,
    sender: pid,
    mail: pid,
    submission: pid.default(null),
    temporal: pid,
    postgres: pid,
  }),
});

export type DevFile = z.infer<typeof devFile>;
export type Pids = DevFile['pids'];

/** Returns the file of an earlier run, or null if there is none or it cannot be parsed. */
export async function readDevFile(path: string): Promise<DevFile | null> {
  try {
    return devFile.parse(JSON.parse((await readIfThere(path)) ?? ''));
  } catch {
    return null;
  }
}

/** Serializes the writes to the file, so that the latest content wins. Readers always see a complete file. */
export function createDevFileWriter(path: string): { write(content: DevFile): Promise<void> } {
  let last: Promise<void> = Promise.resolve();
  return {
    write(content) {
      const text = `${JSON.stringify(content, null, 2)}\n`;
      last = last.catch(() => undefined).then(() => writePrivateFile(path, text));
      return last;
    },
  };
}

/** Returns the same facts as text for the terminal. */
export function banner(content: DevFile, path: string): string {
  const lines = [
    ['API', `${content.base_url}  (reference at /docs)`],
    ['SMTP', content.smtp_url && `${content.smtp_url}  (password: the API key)`],
    ['Console', content.console_url],
    ['API key', content.api_key],
    ['Login', `${content.email}  ${content.password}`],
    ['Mailbox', content.mailbox_url],
    ['Temporal', content.temporal_ui_url ?? content.temporal_address],
    ['PostgreSQL', content.database_url],
    ['', `These values are in ${path}, too. Ctrl-C stops everything; the data stays.`],
  ];
  const shown = lines
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `  ${(name ?? '').padEnd(11)} ${value}`);
  return ['', 'Carillon is running.', ...shown, ''].join('\n');
}
