import { z } from 'zod';
import { readIfThere, writePrivateFile } from '../machine/secret-file.ts';

const pid = z.number().int().nullable();

/** What `.carillon/dev.json` says of the running installation; null for what is not running, or not ours. */
const devFile = z.object({
  base_url: z.string(),
  api_key: z.string(),
  email: z.string(),
  password: z.string(),
  account_id: z.number().int(),
  brand_id: z.number().int(),
  temporal_address: z.string(),
  temporal_ui_url: z.string().nullable(),
  database_url: z.string(),
  mailbox_url: z.string().nullable(),
  pids: z.object({ api: pid, worker: pid, sender: pid, mail: pid, temporal: pid, postgres: pid }),
});

export type DevFile = z.infer<typeof devFile>;
export type Pids = DevFile['pids'];

/** @returns the file of an earlier run, or null where there is none that can be read */
export async function readDevFile(path: string): Promise<DevFile | null> {
  try {
    return devFile.parse(JSON.parse((await readIfThere(path)) ?? ''));
  } catch {
    return null;
  }
}

/** Writes one after another, each the newest content; a reader sees a whole file always. */
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

/** The same for the terminal. */
export function banner(content: DevFile, path: string): string {
  const lines = [
    ['API', `${content.base_url}  (description at /docs)`],
    ['API key', content.api_key],
    ['Login', `${content.email}  ${content.password}`],
    ['Mailbox', content.mailbox_url],
    ['Temporal', content.temporal_ui_url ?? content.temporal_address],
    ['PostgreSQL', content.database_url],
    ['', `All of it is in ${path}. Ctrl-C stops everything; what it holds stays.`],
  ];
  const shown = lines
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `  ${(name ?? '').padEnd(11)} ${value}`);
  return ['', 'Carillon runs.', ...shown, ''].join('\n');
}
